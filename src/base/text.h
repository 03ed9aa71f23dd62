// SPDX-License-Identifier: Apache-2.0
// Text helpers that more than one module needs: splitting, joining, numbers, and how amounts are
// written for a person.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace roofmark {

std::vector<std::string_view> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view Trim(std::string_view text);

// The whole text as a number, or an input error that quotes it.
Result<int64_t> ParseInt(std::string_view text);
Result<double> ParseDouble(std::string_view text);

// "850 ns", "12.3 us", "4.56 ms", "1.20 s".
std::string HumanTime(double nanoseconds);
// "512 B", "1.5 KiB", "3.2 GiB".
std::string HumanBytes(double bytes);

// The text with each byte that is not valid UTF-8 replaced by U+FFFD.
std::string ValidUtf8(std::string_view text);

}  // namespace roofmark
