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

class AgainstReport {
 public:
  // `total_error_rate` is the share of the run's error rate that each total has.
  AgainstReport(const std::vector<Workload>& workloads, double total_error_rate)
      : workloads_(workloads), total_error_rate_(total_error_rate) {}

  // Prints the verdict's comparison, if it has one, and keeps it for the total.
  void Add(const Verdict& verdict, Format format);
  // Prints the total of each candidate. True when each of them is not slower on every weighted
  // workload and faster in the total.
  bool Finish(Format format) const;

 private:
  struct Line {
    double weight = 0;
    std::string operator_name;
    Against against;
  };
  struct Side {
    std::string candidate;
    std::string hash;
    std::vector<Line> lines;
  };

  bool FinishSide(const Side& side, Format format) const;

  const std::vector<Workload>& workloads_;
  double total_error_rate_;
  std::vector<Side> sides_;
};

}  // namespace roofmark::cli
