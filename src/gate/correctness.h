// SPDX-License-Identifier: Apache-2.0
// The correctness gate: several value regimes, fresh secret seeds, whole outputs.
#pragma once

#include <vector>

#include "base/result.h"
#include "gate/contestant.h"
#include "gate/judge.h"
#include "gate/session.h"

namespace roofmark::gate {

// Leaves those that pass undecided. Each trial lies in another slot, so addresses change too.
// The last is repeated (repetition.h).
Result<void> RunCorrectness(Session& session, std::vector<Contestant*> contestants,
                            Stopwatch& stopwatch, const JudgeOptions& options);

}  // namespace roofmark::gate
