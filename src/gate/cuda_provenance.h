// SPDX-License-Identifier: Apache-2.0
// Who owns a piece of device time: decided by where its code object came from. Two witnesses are
// the judge's own and beyond the candidate's reach: the hashes of the cubins that its own
// compilation made, and the names of the kernels that the candidate's source defines. Which shared
// object loaded a module is the meter's testimony; it can only take ownership away or tell foreign
// owners apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gate/cuda_timeline.h"
#include "gate/stopwatch.h"
#include "model/verdict.h"

namespace roofmark::gate {

// Names of the functions that are decorated with @triton.jit (or @jit, @gluon.jit, with or without
// arguments, below or above an autotuner) in a Python source.
std::vector<std::string> JitKernelNames(std::string_view python);

Owner OwnerOf(const MeterReport& report, const MeteredOperation& operation,
              const Provenance& provenance);

}  // namespace roofmark::gate
