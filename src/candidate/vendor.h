// SPDX-License-Identifier: Apache-2.0
// Vendor libraries and frameworks by their files' names and by their symbols. Native candidates
// must not call them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace roofmark::candidate {

// "libcublas.so.12", "libtorch_cpu.so", "libopenblasp-r0.3.21.so" and the like.
bool IsVendorLibrary(std::string_view file_name);

// The first vendor library that the shared object needs, or vendor symbol that it leaves undefined;
// nothing when it has none. Errors: kInput when this is no x86-64 shared object.
Result<std::optional<std::string>> VendorSymbol(const std::filesystem::path& library);

}  // namespace roofmark::candidate
