// SPDX-License-Identifier: Apache-2.0
// How much attainment varies among the shapes of a stratum, from what was judged earlier: where it
// varies little, one shape tells of all, and draws are better spent elsewhere.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace roofmark::suite {

// What a candidate attained on a workload in an earlier round; 0 where it was refused.
struct Attained {
  std::string candidate;
  std::string workload;  // "operator/shape"
  double attainment = 0;
};

// Standard deviations of attainment among shapes, pooled over candidates.
class AttainedSpread {
 public:
  // One judged shape of a stratum of an operator in a phase.
  void Add(const std::string& candidate, const std::string& op_phase, const std::string& stratum,
           double attainment);

  struct Deviation {
    double value = 1;
    std::string_view from;  // "stratum", "operator and phase", "all"; empty: nobody knows
  };
  // Of the stratum where it has three degrees of freedom, else of its operator and phase, else of
  // all; 1 where not even these have them, so that all strata are alike.
  Deviation Of(const std::string& op_phase, const std::string& stratum) const;

 private:
  using Values = std::map<std::string, std::vector<double>>;  // by candidate
  static bool Pool(const Values& values, double* deviation);
  std::map<std::string, Values> strata_;
  std::map<std::string, Values> op_phases_;
  Values all_;
};

}  // namespace roofmark::suite
