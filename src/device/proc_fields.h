// SPDX-License-Identifier: Apache-2.0
// Files of /proc that are lines of "name : value".
#pragma once

#include <string>
#include <string_view>

namespace roofmark::device {

// The value of the first line with this name; empty when there is none.
std::string ProcField(std::string_view text, std::string_view name);

}  // namespace roofmark::device
