// SPDX-License-Identifier: Apache-2.0
// `judge --sanitize`: those that were right make one more call under compute-sanitizer, once with
// memcheck and once with racecheck (worker/sanitizer.h). What a comparison cannot see is found
// there: a read beside an operand, and a race in shared memory that went well so far.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "gate/contestant.h"
#include "gate/judge.h"
#include "gate/session.h"

namespace roofmark::gate {

// What a verdict's level says of it, by contestant.
using SanitizerNotes = std::map<Contestant*, std::string>;

// Refuses each candidate with a finding as runtime_error, with the first finding's words; baselines
// are not asked. Does nothing unless options.sanitize. Errors: kNotFound and kDevice where the tool
// is missing or does not work here.
Result<SanitizerNotes> RunSanitizer(Session& session, const std::vector<Contestant*>& contestants,
                                    const JudgeOptions& options);

}  // namespace roofmark::gate
