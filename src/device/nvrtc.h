// SPDX-License-Identifier: Apache-2.0
// The run-time compiler for our own device code. The judge's kernels are text, so that building
// Roofmark needs no nvcc, and are compiled for the GPU that is found (30 to 60 ms).
// Source: NVIDIA NVRTC 13.0 documentation; nvrtc_test.cc compares the declarations with nvrtc.h.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace roofmark::device {

struct NvrtcProgramTag;

struct NvrtcApi {
  int (*version)(int*, int*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*create)(NvrtcProgramTag**, const char*, const char*, int, const char* const*,
                const char* const*) = nullptr;
  int (*destroy)(NvrtcProgramTag**) = nullptr;
  int (*compile)(NvrtcProgramTag*, int, const char* const*) = nullptr;
  int (*log_size)(NvrtcProgramTag*, size_t*) = nullptr;
  int (*log)(NvrtcProgramTag*, char*) = nullptr;
  int (*cubin_size)(NvrtcProgramTag*, size_t*) = nullptr;
  int (*cubin)(NvrtcProgramTag*, char*) = nullptr;
  std::string path;  // the library that was opened
};

// Errors: kNotFound when no NVRTC is installed, kDevice when it cannot be opened.
Result<NvrtcApi> LoadNvrtc();

// CUDA C++ text to a cubin. `arch` is the GPU's, e.g. "sm_90"; `name` appears in messages.
// Errors: kDevice with the compiler's log; the text is ours, so this means a toolkit that is too
// old for `arch`, or a bug.
Result<std::string> CompileCubin(const NvrtcApi& nvrtc, const std::string& text,
                                 const std::string& name, const std::string& arch,
                                 const std::vector<std::string>& options = {});

}  // namespace roofmark::device
