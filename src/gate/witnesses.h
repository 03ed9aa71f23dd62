// SPDX-License-Identifier: Apache-2.0
// Witnesses beside the meter, asked about a candidate on a GPU whose adoption is high enough: does
// the code that ran as its language's come from that language's compiler, and are the outputs wrong
// without its kernels?
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "gate/cached_code.h"
#include "gate/contestant.h"
#include "gate/judge.h"
#include "gate/session.h"
#include "gate/timing.h"

namespace roofmark::gate {

// Of the hashes of code objects that ran as the language's, how many are not among what its
// compiler left in the worker's scratch folder, in words; empty when all are there.
std::string UnexplainedCode(const std::vector<std::string>& ran,
                            const std::vector<CachedCode>& cached);

// Why no witness can speak for a candidate of a lane that Triton compiles: code of its own ran, and
// none of it was Triton's. Empty where one can, or where nothing is claimed.
std::string Unwitnessed(Lane lane, const Timing& timing);

// Fills timing->refuted, and adds to its level what a witness could not say. The ghost replay comes
// once for each candidate, on the first workload; compiling the code again (recompile.h) is only
// begun, for what is in contestant.code then. Refills slot 0. Errors are the machine's.
Result<void> AskWitnesses(Session& session, Contestant& contestant, const JudgeOptions& options,
                          Timing* timing);

}  // namespace roofmark::gate
