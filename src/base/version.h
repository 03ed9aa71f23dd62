// SPDX-License-Identifier: Apache-2.0
// The version that documents written by this program carry; the same as in CMakeLists.txt.
#pragma once

#include <string_view>

namespace roofmark {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace roofmark
