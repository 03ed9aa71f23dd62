// SPDX-License-Identifier: Apache-2.0
// Kinds of ASCII characters, whatever the locale. <cctype> asks it, and takes no negative char.
#pragma once

namespace roofmark {

constexpr bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

// What names in C, CUDA and Python are made of.
constexpr bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) || c == '_';
}

}  // namespace roofmark
