// SPDX-License-Identifier: Apache-2.0
// The performance gate. Timing runs in rounds: every slot gets fresh values, then each contestant
// (in random order) makes one timed call per slot, then the outputs of those very calls are
// checked: all for having been written and for not repeating, a secret choice of at least eight in
// full. It ends when every interval is narrow, or with an honest "unstable".
#pragma once

#include <vector>

#include "base/result.h"
#include "gate/contestant.h"
#include "gate/judge.h"
#include "gate/session.h"

namespace roofmark::gate {

// Decides every contestant.
Result<void> RunPerformance(Session& session, const Sol& sol, std::vector<Contestant*> contestants,
                            const Bench& bench, const JudgeOptions& options);

}  // namespace roofmark::gate
