// SPDX-License-Identifier: Apache-2.0
// Numbers of a profile, read from their digits. Timestamps reach 7.8e12 us with three decimals,
// close to where doubles lose nanoseconds, so they never pass through one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace roofmark::trace {

// Microseconds as written ("2915995397672.546", "12", "1.5e3", with or without quotes) in integer
// nanoseconds; further decimals are rounded to the nearest. Nothing for NaN, infinities, text and
// what does not fit 64 bits.
std::optional<int64_t> ParseMicroseconds(std::string_view text);

// The same of an event's field, whose surroundings may be read: quicker.
// Requires: 6 readable bytes before the text, as `{"ts":` has.
std::optional<int64_t> ParseEventMicroseconds(std::string_view text);

// An integer, quotes allowed; nothing where it is none or does not fit.
std::optional<int64_t> ParseInteger(std::string_view text);

// An identifier: its value where it is an unsigned 64-bit integer, else a hash of its text with the
// top bit set, so that absurd identifiers still compare.
uint64_t ParseIdentifier(std::string_view text);

}  // namespace roofmark::trace
