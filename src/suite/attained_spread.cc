// SPDX-License-Identifier: Apache-2.0
#include "suite/attained_spread.h"

#include <cmath>

namespace roofmark::suite {
namespace {

constexpr double kDegrees = 3;

}  // namespace

void AttainedSpread::Add(const std::string& candidate, const std::string& op_phase,
                         const std::string& stratum, double attainment) {
  strata_[stratum][candidate].push_back(attainment);
  op_phases_[op_phase][candidate].push_back(attainment);
  // Candidates are of one operator, so that all means all within an operator.
  all_[op_phase + " " + candidate].push_back(attainment);
}

bool AttainedSpread::Pool(const Values& values, double* deviation) {
  double squares = 0;
  double degrees = 0;
  for (const auto& [candidate, of_candidate] : values) {
    double mean = 0;
    for (const double value : of_candidate) mean += value;
    mean /= static_cast<double>(of_candidate.size());
    for (const double value : of_candidate) squares += (value - mean) * (value - mean);
    degrees += static_cast<double>(of_candidate.size()) - 1;
  }
  if (degrees < kDegrees) return false;
  *deviation = std::sqrt(squares / degrees);
  return true;
}

AttainedSpread::Deviation AttainedSpread::Of(const std::string& op_phase,
                                             const std::string& stratum) const {
  Deviation deviation;
  const auto in_stratum = strata_.find(stratum);
  const auto in_op_phase = op_phases_.find(op_phase);
  if (in_stratum != strata_.end() && Pool(in_stratum->second, &deviation.value)) {
    deviation.from = "stratum";
  } else if (in_op_phase != op_phases_.end() && Pool(in_op_phase->second, &deviation.value)) {
    deviation.from = "operator and phase";
  } else if (Pool(all_, &deviation.value)) {
    deviation.from = "all";
  }
  return deviation;
}

}  // namespace roofmark::suite
