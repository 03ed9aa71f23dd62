// SPDX-License-Identifier: Apache-2.0
// Witnesses beside the meter, asked about a candidate on a GPU whose adoption is high enough: does
// the code that ran as its language's come from that language's compiler, and are the outputs wrong
// without its kernels?
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "gate/contestant.h"
#include "gate/judge.h"
#include "gate/session.h"
#include "gate/timing.h"

namespace roofmark::gate {

// The cubins below a worker's scratch folder that have these hashes, each once.
std::map<std::string, std::filesystem::path> FindCode(const std::vector<std::string>& hashes,
                                                      const std::filesystem::path& scratch);

// Fills timing->refuted, and adds to its level what a witness could not say. The ghost replay comes
// once for each candidate, on the first workload, and each code object is compiled again once.
// Refills slot 0. Errors are the machine's.
Result<void> AskWitnesses(Session& session, Contestant& contestant, const JudgeOptions& options,
                          Timing* timing);

}  // namespace roofmark::gate
