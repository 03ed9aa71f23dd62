// SPDX-License-Identifier: Apache-2.0
// Structures out of bytes that may end anywhere and lie at any address.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace roofmark::meter {

// Nothing where the bytes end before it does.
template <typename T>
std::optional<T> ReadAt(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

}  // namespace roofmark::meter
