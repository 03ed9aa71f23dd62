// SPDX-License-Identifier: Apache-2.0
// Extensions that a Python candidate had compiled in its worker (torch.utils.cpp_extension). What
// compiling them left in the scratch folder tells such a library from one that came ready-made.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace roofmark::gate {

// A library in the scratch folder, and the kernels that its CUDA source defines.
struct BuiltExtension {
  std::string library;  // path below the scratch folder
  std::vector<std::string> kernels;
};

// Libraries beside which stand an object NAME.cuda.o and its source: NAME.cu beside it (load_inline
// writes cuda.cu), or the file of that name among the candidate's (load). Of the source's kernels
// those that the candidate's clear text defines too (`clear_kernels`, CudaKernelNames). `sources`:
// the candidate's files by name. What cannot be read is left out. Source of the names: PyTorch 1.13
// to 2.11, torch/utils/cpp_extension.py.
std::vector<BuiltExtension> FindExtensions(const std::filesystem::path& scratch,
                                           const std::map<std::string, std::string>& sources,
                                           const std::vector<std::string>& clear_kernels);

}  // namespace roofmark::gate
