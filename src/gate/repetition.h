// SPDX-License-Identifier: Apache-2.0
// The same inputs again: a race or a dependence on addresses gives other answers from time to time,
// and one call a regime is likely to miss it. A right answer is repeated at other addresses while
// the machine is disturbed (Stopwatch::Disturb). Outputs that differ but are within the tolerance
// only mean that the candidate is not deterministic; outputs outside of it are a wrong output.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "gate/contestant.h"
#include "gate/judge.h"
#include "gate/session.h"
#include "gate/stopwatch.h"

namespace roofmark::gate {

// What repeating showed.
struct Repetitions {
  int made = 0;
  int differing = 0;                        // not the same bits
  int wrong = 0;                            // of these, outside the tolerance
  Outcome outcome = Outcome::kWrongOutput;  // of the first that was wrong
  std::string first_fault;

  // For a verdict, when any was wrong: "intermittent: k of n repetitions ...".
  std::string Reason() const;
};

// Repeats the calls of this slot, which were found right: session.want() must hold its expected
// outputs, and each contestant's outputs of the slot its answers. Sets the verdicts'
// `deterministic` and refuses whoever is wrong, touches guards or inputs, or fails. The other slots
// hold copies of this slot's inputs afterwards.
Result<void> RepeatCalls(Session& session, const std::vector<Contestant*>& contestants, size_t slot,
                         Stopwatch& stopwatch, const JudgeOptions& options);

}  // namespace roofmark::gate
