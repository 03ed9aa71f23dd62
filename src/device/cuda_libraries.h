// SPDX-License-Identifier: Apache-2.0
// Where NVIDIA's user-space libraries (NVRTC, CUPTI) are on this machine: in a toolkit, beside the
// system's libraries, or inside the wheels that PyTorch brings along.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace roofmark::device {

enum class CudaLibrary { kNvrtc, kCupti };

// The newest one found, as a full path. $CUDA_HOME and $CUDA_PATH are searched first, then
// /usr/local/cuda and the system's folders, then the folders of the interpreter's wheels
// (ROOFMARK_PYTHON). Errors: kNotFound with the folders searched and what to install.
Result<std::filesystem::path> FindCudaLibrary(CudaLibrary library);

// The meter, libroofmark_meter.so: $ROOFMARK_METER, or beside this binary, or in ../lib of it.
// Errors: kNotFound with the places searched.
Result<std::filesystem::path> FindMeter();

// The first existing `folder/name` of the given folders, names first. Empty when there is none.
std::filesystem::path FirstExisting(const std::vector<std::filesystem::path>& folders,
                                    const std::vector<std::string_view>& names);

}  // namespace roofmark::device
