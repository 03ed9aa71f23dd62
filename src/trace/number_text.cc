// SPDX-License-Identifier: Apache-2.0
// Decimal arithmetic on digits; no floating point.
#include "trace/number_text.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/ascii.h"
#include "trace/string_table.h"

namespace roofmark::trace {
namespace {

std::string_view Unquoted(std::string_view text) {
  const auto drop = [](char byte) {
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t' || byte == '"';
  };
  while (!text.empty() && drop(text.back())) text.remove_suffix(1);
  while (!text.empty() && drop(text.front())) text.remove_prefix(1);
  return text;
}

// 999999999999999999 fits with a digit to spare.
constexpr int kMaxDigits = 18;

// Digits and the power of ten that the last of them stands for.
struct Decimal {
  int64_t digits = 0;
  int64_t exponent = 0;
  int count = 0;  // significant digits
};

// Takes digits of both sides of the point; digits that do not fit are only counted.
bool TakeDigits(std::string_view& text, Decimal& number) {
  bool any = false;
  bool fraction = false;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char byte = text.front();
    if (byte == '.' && !fraction) {
      fraction = true;
      continue;
    }
    if (!IsDigit(byte)) break;
    any = true;
    if (number.count == kMaxDigits) {
      number.exponent += fraction ? 0 : 1;
      continue;
    }
    number.digits = number.digits * 10 + (byte - '0');
    number.count += number.digits != 0 ? 1 : 0;
    number.exponent -= fraction ? 1 : 0;
  }
  return any;
}

// digits * 10^exponent, rounded; nothing on overflow.
std::optional<int64_t> Scaled(Decimal number) {
  while (number.exponent > 0 && number.digits != 0) {
    if (__builtin_mul_overflow(number.digits, 10, &number.digits)) return std::nullopt;
    --number.exponent;
  }
  if (number.exponent < -kMaxDigits) return 0;
  int64_t last = 0;
  for (; number.exponent < 0; ++number.exponent) {
    last = number.digits % 10;
    number.digits /= 10;
  }
  return number.digits + (last >= 5 ? 1 : 0);
}

// Eight digits at once, or nothing. Requires: 8 readable bytes.
// Source: Lemire, "Quickly parsing eight digits" (2018).
bool EightDigits(const char* at, int64_t& value) {
  uint64_t word = 0;
  std::memcpy(&word, at, 8);
  const uint64_t high = word & 0xF0F0F0F0F0F0F0F0U;
  const uint64_t carried = (word + 0x0606060606060606U) & 0xF0F0F0F0F0F0F0F0U;
  if (high != 0x3030303030303030U || carried != high) return false;
  word = (word & 0x0F0F0F0F0F0F0F0FU) * 2561 >> 8;
  word = (word & 0x00FF00FF00FF00FFU) * 6553601 >> 16;
  word = (word & 0x0000FFFF0000FFFFU) * 42949672960001U >> 32;
  value = static_cast<int64_t>(word);
  return true;
}

// What nearly all times are: up to 16 digits, or up to 15 with a point and one to three more behind
// it. Nothing where the text is anything else.
std::optional<int64_t> PlainMicroseconds(std::string_view text) {
  if (text.empty() || text.size() > 19) return std::nullopt;
  const char* at = text.data();
  const char* const end = at + text.size();
  int64_t value = 0;
  const char* const digits = at;
  if (text.size() >= 8 && EightDigits(at, value)) at += 8;
  int64_t more = 0;
  if (at != digits && end - at >= 8 && EightDigits(at, more)) {
    value = value * 100000000 + more;
    at += 8;
  }
  while (at != end && IsDigit(*at)) value = value * 10 + (*at++ - '0');
  if (at == digits || at - digits > 16 || value > INT64_MAX / 1000) return std::nullopt;
  if (at == end) return value * 1000;
  if (at - digits > 15) return std::nullopt;
  if (*at != '.' || end - at < 2 || end - at > 4) return std::nullopt;
  int64_t scale = 1000;
  for (++at; at != end && IsDigit(*at); scale /= 10) value = value * 10 + (*at++ - '0');
  return at == end ? std::optional(value * scale) : std::nullopt;
}

// Up to eight digits, without a loop: what stands before them is replaced by zeros. Nothing where
// they are none. Requires: 8 readable bytes that end at `end`; 1 <= count <= 8.
bool LastDigits(const char* end, size_t count, int64_t& value) {
  uint64_t word = 0;
  std::memcpy(&word, end - 8, 8);
  const uint64_t digits = ~uint64_t{0} << (8 * (8 - count));
  word = (word & digits) | (0x3030303030303030U & ~digits);
  char bytes[8];
  std::memcpy(bytes, &word, 8);
  return EightDigits(bytes, value);
}

}  // namespace

std::optional<int64_t> ParseEventMicroseconds(std::string_view text) {
  constexpr int64_t kPowers[4] = {1000, 100, 10, 1};
  // Decimals, from the end: none to three.
  size_t decimals = 0;
  size_t whole = text.size();
  for (size_t count = 1; count <= 3 && count < text.size(); ++count) {
    if (text[text.size() - 1 - count] != '.') continue;
    decimals = count;
    whole = text.size() - 1 - count;
  }
  if (whole == 0 || whole > 15) return ParseMicroseconds(text);
  const char* const end = text.data() + whole;
  int64_t low = 0;
  int64_t high = 0;
  int64_t fraction = 0;
  bool good = true;
  if (whole == 1) {  // eight bytes before its end might not be there
    good = IsDigit(text[0]);
    low = text[0] - '0';
  } else {
    good = LastDigits(end, std::min<size_t>(whole, 8), low);
  }
  if (whole > 8) good = LastDigits(end - 8, whole - 8, high) && good;
  if (decimals > 0) good = LastDigits(text.data() + text.size(), decimals, fraction) && good;
  if (!good) return ParseMicroseconds(text);
  return (high * 100000000 + low) * 1000 + fraction * kPowers[decimals];
}

std::optional<int64_t> ParseMicroseconds(std::string_view text) {
  if (const std::optional<int64_t> plain = PlainMicroseconds(text)) return plain;
  text = Unquoted(text);
  const bool negative = !text.empty() && text.front() == '-';
  if (negative || (!text.empty() && text.front() == '+')) text.remove_prefix(1);
  Decimal number;
  if (!TakeDigits(text, number)) return std::nullopt;
  if (!text.empty() && (text.front() == 'e' || text.front() == 'E')) {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '+') text.remove_prefix(1);
    int exponent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (error != std::errc() || exponent > 1000 || exponent < -1000) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    number.exponent += exponent;
  }
  if (!text.empty()) return std::nullopt;
  number.exponent += 3;  // us -> ns
  const std::optional<int64_t> value = Scaled(number);
  if (!value) return std::nullopt;
  return negative ? -*value : *value;
}

std::optional<int64_t> ParseInteger(std::string_view text) {
  text = Unquoted(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

uint64_t ParseIdentifier(std::string_view text) {
  text = Unquoted(text);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return HashText(text) | uint64_t{1} << 63;
}

}  // namespace roofmark::trace
