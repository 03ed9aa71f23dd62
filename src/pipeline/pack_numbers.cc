// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>

#include "base/ascii.h"
#include "base/check.h"
#include "pipeline/pack_numbers_internal.h"

namespace roofmark::pipeline {
namespace {

constexpr size_t kHashLength = 32;
constexpr size_t kTellingDigits = 5;
constexpr size_t kTellingWholeNumber = 6;
constexpr size_t kTellingDecimal = 3;
constexpr size_t kTellingSignificant = 2;  // "10.0" is in every text
constexpr double kRounding = 1e-12;        // of figures that were computed

bool IsWordChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

size_t DigitRun(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && IsDigit(text[end])) ++end;
  return end - at;
}

// The end of a number in plain or scientific notation that starts at `at`.
size_t PlainEnd(std::string_view text, size_t at) {
  size_t end = at + DigitRun(text, at);
  if (end + 1 < text.size() && text[end] == '.' && IsDigit(text[end + 1])) {
    ++end;
    end += DigitRun(text, end);
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    if (const size_t run = DigitRun(text, exponent); run > 0 && run <= 3) end = exponent + run;
  }
  return end;
}

// The end of groups of three that start at `at`, or `at` where there are none.
size_t GroupedEnd(std::string_view text, size_t at) {
  size_t end = at + DigitRun(text, at);
  if (end - at > 3 || end >= text.size()) return at;
  const char separator = text[end];
  if (separator != ',' && separator != '_' && separator != '\'' && separator != ' ') return at;
  size_t groups = 0;
  while (end < text.size() && text[end] == separator && DigitRun(text, end + 1) == 3) {
    end += 4;
    ++groups;
  }
  return groups > 0 ? end : at;
}

NumberToken MakeToken(std::string_view written) {
  NumberToken token{.written = std::string(written)};
  std::string plain;
  bool in_exponent = false;
  for (const char c : written) {
    if (c == ',' || c == '_' || c == '\'' || c == ' ') continue;
    plain += c;
    if (c == 'e' || c == 'E') in_exponent = true;
    if (c == '.') token.has_point = true;
    if (!in_exponent && IsDigit(c)) {
      token.digits += c;
      ++token.written_digits;
    }
  }
  std::from_chars(plain.data(), plain.data() + plain.size(), token.value);
  token.digits.erase(0, token.digits.find_first_not_of('0'));
  token.digits.erase(token.digits.find_last_not_of('0') + 1);
  return token;
}

// The end of the run of letters and digits that starts at `at`.
size_t WordEnd(std::string_view text, size_t at) {
  while (at < text.size() && IsWordChar(text[at])) ++at;
  return at;
}

}  // namespace

std::vector<NumberToken> FindNumbers(std::string_view text) {
  std::vector<NumberToken> tokens;
  for (size_t at = 0; at < text.size();) {
    if (!IsWordChar(text[at])) {
      ++at;
      continue;
    }
    const size_t word_end = WordEnd(text, at);
    if (word_end - at >= kHashLength) {
      at = word_end;
      continue;
    }
    while (at < word_end && !IsDigit(text[at])) ++at;
    if (at == word_end) continue;
    if (const size_t end = GroupedEnd(text, at); end > at) {
      tokens.push_back(MakeToken(text.substr(at, end - at)));
    }
    const size_t end = PlainEnd(text, at);
    tokens.push_back(MakeToken(text.substr(at, end - at)));
    at = end;
  }
  return tokens;
}

std::string SignificantDigits(double value, size_t count) {
  CHECK(count > 0 && std::isfinite(value));
  if (value == 0) return "";
  const std::string scientific = fmt::format("{:.{}e}", std::abs(value), count - 1);
  std::string digits;
  for (const char c : scientific) {
    if (c == 'e') break;
    if (IsDigit(c)) digits += c;
  }
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits;
}

bool GivesAway(const NumberToken& token, double value) {
  if (token.digits.empty()) return false;
  const size_t length = token.digits.size();
  if (length >= kTellingDigits && length <= 17 &&
      token.digits == SignificantDigits(value, length)) {
    return true;
  }
  const bool telling =
      token.written_digits >= kTellingWholeNumber ||
      (token.has_point && token.written_digits >= kTellingDecimal && length >= kTellingSignificant);
  return telling && std::abs(token.value - std::abs(value)) <= kRounding * token.value;
}

}  // namespace roofmark::pipeline
