// SPDX-License-Identifier: Apache-2.0
// Byte by byte: it only runs over damaged, very long or suspicious events.
#include "trace/event_repair.h"

#include <algorithm>
#include <array>
#include <vector>

namespace roofmark::trace {
namespace {

constexpr std::array<std::string_view, 11> kEventKeys = {"ph",  "cat",  "name", "pid", "tid", "ts",
                                                         "dur", "args", "id",   "s",   "bp"};

bool IsSpace(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

size_t SkipSpace(std::string_view text, size_t at) {
  while (at < text.size() && IsSpace(text[at])) ++at;
  return at;
}

// The key behind the '{' at `at`, or empty where no string and colon follow.
std::string_view KeyBehind(std::string_view text, size_t at) {
  size_t begin = SkipSpace(text, at + 1);
  if (begin >= text.size() || text[begin] != '"') return {};
  ++begin;
  const size_t end = text.substr(0, std::min(text.size(), begin + 16)).find('"', begin);
  if (end == std::string_view::npos) return {};
  const size_t colon = SkipSpace(text, end + 1);
  if (colon >= text.size() || text[colon] != ':') return {};
  return text.substr(begin, end - begin);
}

bool IsEventKey(std::string_view key) {
  return std::ranges::find(kEventKeys, key) != kEventKeys.end();
}

// Objects inside an event follow a colon, events follow a comma.
bool FollowsComma(std::string_view text, size_t at) {
  while (at > 0 && IsSpace(text[at - 1])) --at;
  return at > 0 && (text[at - 1] == ',' || text[at - 1] == '[');
}

}  // namespace

size_t FindSwallowedEvent(std::string_view text) {
  std::vector<char> nesting;
  bool in_string = false;
  char before = '\0';  // the last byte outside strings that is no space; '"' for a string
  for (size_t at = 0; at < text.size(); ++at) {
    const char byte = text[at];
    if (byte == '\\' && in_string) {
      ++at;
      continue;
    }
    if (byte == '"') {
      in_string = !in_string;
      before = '"';
      continue;
    }
    if (byte == '{' && at > 0) {
      const std::string_view key = KeyBehind(text, at);
      const bool wrong_place = !nesting.empty() && nesting.back() == '{' && before != ':';
      if (in_string ? IsEventKey(key) : (wrong_place || key == "ph")) return at;
    }
    if (in_string || IsSpace(byte)) continue;
    if (byte == '{' || byte == '[') nesting.push_back(byte);
    if ((byte == '}' || byte == ']') && !nesting.empty()) nesting.pop_back();
    before = byte;
  }
  return std::string_view::npos;
}

size_t FindEventStart(std::string_view text, size_t from) {
  for (size_t at = text.find('{', from); at != std::string_view::npos;
       at = text.find('{', at + 1)) {
    const std::string_view key = KeyBehind(text, at);
    if (key == "ph" || (IsEventKey(key) && FollowsComma(text, at))) return at;
  }
  return std::string_view::npos;
}

}  // namespace roofmark::trace
