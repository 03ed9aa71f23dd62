// SPDX-License-Identifier: Apache-2.0
// Bytes as text in JSON, which has no bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roofmark {

// Two lower-case hexadecimal digits a byte.
std::string ToHex(std::string_view bytes);
// The bytes of such a text; an odd last digit is left out. Nothing where another character stands.
std::optional<std::string> FromHex(std::string_view text);

}  // namespace roofmark
