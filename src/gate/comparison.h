// SPDX-License-Identifier: Apache-2.0
// The candidate against the baseline on one workload, after both have passed all gates: rounds of
// ABBA blocks (paired_blocks.h) on fresh values, each timed call checked for safety and a secret
// one a round in full, as in the performance gate.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "gate/contestant.h"
#include "gate/judge.h"
#include "gate/session.h"

namespace roofmark::gate {

// Compares every contestant that passed with `options.baseline`, and writes it into its verdict. A
// contestant that misbehaves meanwhile is refused. Does nothing without a baseline.
Result<void> RunComparisons(Session& session, const std::vector<Contestant*>& contestants,
                            const Bench& bench, const JudgeOptions& options);

// Gives every verdict but the baseline's a comparison: where there is none yet, `none` with the
// reason. `baseline` is an index into the verdicts, which are of one workload.
void ExplainMissingComparisons(size_t baseline, std::vector<Verdict>* verdicts);

}  // namespace roofmark::gate
