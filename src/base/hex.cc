// SPDX-License-Identifier: Apache-2.0
#include "base/hex.h"

namespace roofmark {
namespace {

std::optional<int> Digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return std::nullopt;
}

}  // namespace

std::string ToHex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

std::optional<std::string> FromHex(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    const auto high = Digit(text[i]);
    const auto low = Digit(text[i + 1]);
    if (!high || !low) return std::nullopt;
    bytes += static_cast<char>((*high * 16) + *low);
  }
  return bytes;
}

}  // namespace roofmark
