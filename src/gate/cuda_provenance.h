// SPDX-License-Identifier: Apache-2.0
// Who owns a piece of device time: decided by where its code object came from. Two witnesses are
// the judge's own and beyond the candidate's reach: the hashes of the cubins that its own
// compilation made, and the names of the kernels that the candidate's source defines. Which shared
// object loaded a module is the meter's testimony; it can only take ownership away or tell foreign
// owners apart.
//
// Code that comes out of the candidate's own bytes and is none of the judge's compilation is
// kPrebuilt: an embedded cubin, a shared object unpacked into /scratch, an image that Python hands
// to the driver through ctypes.
#pragma once

#include <filesystem>
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

// Names of the functions that are declared __global__ in any text: CUDA sources, and Python with
// CUDA in a string.
std::vector<std::string> CudaKernelNames(std::string_view text);

// Names of TorchInductor's kernels (triton_...) in the Python files below a worker's scratch
// folder: it writes each kernel that it generates there before compiling it. Kernels of other names
// may be the candidate's own inside a compiled function. What cannot be read is left out.
std::vector<std::string> GeneratedKernels(const std::filesystem::path& scratch);

Owner OwnerOf(const MeterReport& report, const MeteredOperation& operation,
              const Provenance& provenance);

}  // namespace roofmark::gate
