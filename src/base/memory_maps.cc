// SPDX-License-Identifier: Apache-2.0
#include "base/memory_maps.h"

#include <algorithm>
#include <charconv>

namespace roofmark {
namespace {

// The next word, which is taken off with the blanks ahead of it.
std::string_view TakeWord(std::string_view* rest) {
  rest->remove_prefix(std::min(rest->size(), rest->find_first_not_of(' ')));
  const std::string_view word = rest->substr(0, rest->find(' '));
  rest->remove_prefix(word.size());
  return word;
}

// A hexadecimal number that is all of the text.
bool ParseAddress(std::string_view text, uint64_t* address) {
  const char* const last = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), last, *address, 16);
  return parsed.ec == std::errc() && parsed.ptr == last;
}

}  // namespace

std::optional<MappedRange> ParseMapsLine(std::string_view line) {
  MappedRange range;
  const std::string_view addresses = TakeWord(&line);
  const size_t dash = addresses.find('-');
  if (dash == std::string_view::npos || !ParseAddress(addresses.substr(0, dash), &range.begin) ||
      !ParseAddress(addresses.substr(dash + 1), &range.end)) {
    return std::nullopt;
  }
  range.permissions = TakeWord(&line);
  (void)TakeWord(&line);  // the offset
  range.device = TakeWord(&line);
  range.inode = TakeWord(&line);
  constexpr size_t kPermissions = 4;
  if (range.permissions.size() != kPermissions || range.inode.empty()) return std::nullopt;
  range.path = line.substr(std::min(line.size(), line.find_first_not_of(' ')));
  return range;
}

}  // namespace roofmark
