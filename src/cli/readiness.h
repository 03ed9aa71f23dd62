// SPDX-License-Identifier: Apache-2.0
// The checklist of `judge --require ready`: what has to be true of a kernel before it serves, item
// by item, over all workloads that were judged (docs/method.md, "Readiness").
#pragma once

#include <string>
#include <vector>

#include "cli/against_report.h"
#include "cli/args.h"
#include "model/verdict.h"

namespace roofmark::cli {

// The items of one candidate: gates, adoption, not_slower, faster_in_total, then those of its
// verdicts' fitness, each as the worst of its workloads. Requires: no baseline's verdict among
// them.
std::vector<FitnessItem> Checklist(const std::vector<Verdict>& verdicts,
                                   const AgainstSummary* compared, double require_adoption);
// True when no item says no, and there are items.
bool IsReady(const std::vector<FitnessItem>& items);

class Readiness {
 public:
  explicit Readiness(double require_adoption) : require_adoption_(require_adoption) {}

  void Add(const Verdict& verdict);
  // Prints each candidate's checklist. True when all are ready.
  bool Finish(const std::vector<AgainstSummary>& compared, Format format) const;

 private:
  double require_adoption_;
  std::vector<std::vector<Verdict>> by_candidate_;
};

}  // namespace roofmark::cli
