// SPDX-License-Identifier: Apache-2.0
// Whether a kernel is fit for serving: what a server needs of it beside being right and fast. Asked
// of those that passed all gates, at the end of a workload. An item is `no` where it could not be
// shown, and says so; nothing here changes an outcome.
//
//   cuda_graph            one call is captured, instantiated and replayed on fresh inputs, and the
//                         replay's outputs are right. Not applicable on a CPU.
//   host_synchronisation  run called nothing that waits for the device. Not applicable on a CPU,
//                         where run returns when it is done.
//   allocation            run called nothing that allocates or frees memory of the device; on a
//   CPU,
//                         the worker's memory does not grow over calls.
//   workspace             run uses no more temporary memory than workspace_bytes states (what a
//                         framework's own pool gives is counted for Python lanes).
//   deterministic         equal inputs at other addresses give the same bits, or the candidate
//                         declares that they may not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gate/contestant.h"
#include "gate/judge.h"
#include "gate/session.h"

namespace roofmark::gate {

// Fills `verdict.fitness` of everyone who passed but options.baseline. Does nothing unless
// options.check_fitness.
Result<void> RunFitness(Session& session, const std::vector<Contestant*>& contestants,
                        const JudgeOptions& options);

// Functions of CUDA's driver and runtime by how often they were called.
using CudaCalls = std::map<std::string, int64_t>;
// Errors: kInput for anything but the meter's format.
Result<CudaCalls> ParseCudaCalls(const Json& watched);
// Those that make the host wait for the device, and those that get or give back memory.
CudaCalls WaitingCalls(const CudaCalls& calls);
CudaCalls AllocatingCalls(const CudaCalls& calls);

}  // namespace roofmark::gate
