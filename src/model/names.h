// SPDX-License-Identifier: Apache-2.0
// The one table-driven way in which enumerations become text and back.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "base/result.h"

namespace roofmark {

// `names` is in the order of the enumeration.
template <typename Enum, size_t N>
Result<Enum> ParseName(std::string_view name, const std::array<std::string_view, N>& names,
                       std::string_view what) {
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return Fail(ErrorKind::kInput,
              fmt::format("'{}' is not a {} ({})", name, what, fmt::join(names, ", ")));
}

}  // namespace roofmark
