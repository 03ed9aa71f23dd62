// SPDX-License-Identifier: Apache-2.0
// What a candidate.toml may say to a compiler. Options choose how the candidate's own source is
// compiled; they bring in no other code, load nothing into the compiler and leave its output where
// the judge expects it. The sandbox holds whatever is wrong here all the same.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/candidate.h"

namespace roofmark::candidate {

// Errors: kInput naming the option, why it is refused and what is allowed.
Result<void> CheckOptions(const std::vector<std::string>& options);

// Header-only libraries by name, which `include` may list beside folders of the candidate.
bool IsHeaderLibrary(std::string_view name);  // "cutlass" (with CuTe), "cub" (with Thrust)

// The include folders of one. CUTLASS: ROOFMARK_CUTLASS (a checkout or its include folder), else
// /usr/local/cutlass; CUB: the CUDA toolkit's. Errors: kNotFound with how to get it.
Result<std::vector<std::filesystem::path>> HeaderFolders(std::string_view library);

// "cutlass 4.2.0 (/usr/local/cutlass/include)": what a verdict states of it, the version read from
// its own header where it says.
std::string DescribeLibrary(std::string_view library);

}  // namespace roofmark::candidate
