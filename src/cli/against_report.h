// SPDX-License-Identifier: Apache-2.0
// What `judge --against` prints and answers, beside the verdicts: a line for each workload and
// candidate, and a weighted total for each candidate.
#pragma once

#include <string>
#include <vector>

#include "cli/args.h"
#include "model/against.h"
#include "model/verdict.h"
#include "model/workload.h"

namespace roofmark::cli {

// What a comparison says, for people: "faster 0.9 [0.89, 0.91] of its time, ...".
std::string AgainstText(const Against& against);
// A candidate's total as a line, with its end.
std::string TotalText(size_t workloads, const std::string& candidate, const Against& total,
                      bool not_slower);

// A candidate's comparisons as a whole.
struct AgainstSummary {
  std::string candidate;
  std::string hash;
  Role role = Role::kCandidate;
  Against total;
  bool not_slower = false;  // shown on every weighted workload
  // Never where it calls itself a baseline: it was not asked whose code runs.
  bool better() const {
    return role == Role::kCandidate && not_slower && total.standing == Standing::kFaster;
  }
};

class AgainstReport {
 public:
  // `total_error_rate` is the share of the run's error rate that each total has.
  AgainstReport(const std::vector<Workload>& workloads, double total_error_rate)
      : workloads_(workloads), total_error_rate_(total_error_rate) {}

  // Prints the verdict's comparison, if it has one, and keeps it for the total.
  void Add(const Verdict& verdict, Format format);
  // Prints the total of each candidate.
  std::vector<AgainstSummary> Finish(Format format) const;

 private:
  struct Line {
    double weight = 0;
    std::string operator_name;
    Against against;
  };
  struct Side {
    std::string candidate;
    std::string hash;
    Role role = Role::kCandidate;
    std::vector<Line> lines;
  };

  AgainstSummary FinishSide(const Side& side, Format format) const;

  const std::vector<Workload>& workloads_;
  double total_error_rate_;
  std::vector<Side> sides_;
};

}  // namespace roofmark::cli
