// SPDX-License-Identifier: Apache-2.0
// Numbers in text, and whether one of them gives a hidden figure away. A figure can be written in
// many ways (5122048, 5,122,048, 5.122048e6, 5.122 MB, 0.0051 s), so numbers are compared by their
// significant digits, whatever the unit.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace roofmark::pipeline {

struct NumberToken {
  std::string written;  // as in the text: "5,122,048"
  std::string digits;   // significant digits, no zeros at either end: "5122048"; empty for zero
  size_t written_digits = 0;
  double value = 0;
  bool has_point = false;
};

// All numbers in the text, and each run of groups ("5,122,048", "5 122 048", "5_122_048") both
// joined and part by part. Hashes (runs of 32 letters and digits or more) hold no numbers.
std::vector<NumberToken> FindNumbers(std::string_view text);

// The first `count` significant digits of a value, rounded, without zeros at the end.
std::string SignificantDigits(double value, size_t count);

// True when a reader of the token learns the value: at least five significant digits agree at any
// decimal scale, or the token is the very value and not short (six digits, or three with a decimal
// point and not only zeros after the first). Shorter ones are in every text and prove nothing.
bool GivesAway(const NumberToken& token, double value);

}  // namespace roofmark::pipeline
