// SPDX-License-Identifier: Apache-2.0
// One JSON text in the forms in which tools store it. Values are not parsed but moved around, so
// that numbers which JSON lacks stay, and a file of 60 MB takes no seconds.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"

namespace roofmark::trace {

// Where the string that begins at `at` ends: behind its closing quote.
inline size_t EndOfString(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
  return std::min(at + 1, text.size());
}

// All on one line, spaced as Python's json.dumps does.
inline std::string OneLine(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const char byte = text[at];
    const size_t end = byte == '"' ? EndOfString(text, at) : at + 1;
    if (byte != ' ' && byte != '\n' && byte != '\t' && byte != '\r') {
      out.append(text.substr(at, end - at));
    }
    if (byte == ',' || byte == ':') out += ' ';
    at = end;
  }
  return out;
}

// Each member and each element on a line of its own; `text` is from OneLine.
inline std::string Indented(std::string_view text, size_t by) {
  std::string out;
  out.reserve(2 * text.size());
  size_t depth = 0;
  const auto line = [&] { out.append(1, '\n').append(by * depth, ' '); };
  for (size_t at = 0; at < text.size();) {
    const char byte = text[at];
    const size_t end = byte == '"' ? EndOfString(text, at) : at + 1;
    const bool closes = byte == '}' || byte == ']';
    if (closes) --depth;
    if (closes && out.back() != '{' && out.back() != '[') line();
    out.append(text.substr(at, end - at));
    at = end;
    if (byte == '{' || byte == '[') {
      ++depth;
      if (text.substr(at, 1) != "}" && text.substr(at, 1) != "]") line();
    } else if (byte == ',') {
      line();
      if (text.substr(at).starts_with(' ')) ++at;
    }
  }
  return out;
}

// The parts between the commas of an object or an array, whose brackets are left out.
inline std::vector<std::string_view> PartsOf(std::string_view inside) {
  std::vector<std::string_view> parts;
  size_t depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at < inside.size();) {
    const char byte = inside[at];
    if (byte == '{' || byte == '[') ++depth;
    if (byte == '}' || byte == ']') --depth;
    if (byte == ',' && depth == 0) {
      parts.push_back(inside.substr(begin, at - begin));
      begin = at + 2;
    }
    at = byte == '"' ? EndOfString(inside, at) : at + 1;
  }
  if (begin < inside.size()) parts.push_back(inside.substr(begin));
  return parts;
}

// The members in reversed order and the events in any; `text` is from OneLine.
inline std::string Shuffled(std::string_view text, Random& random) {
  constexpr std::string_view kEvents = "\"traceEvents\": [";
  std::vector<std::string_view> members = PartsOf(text.substr(1, text.size() - 2));
  std::ranges::reverse(members);
  std::string out = "{";
  out.reserve(text.size());
  for (const std::string_view member : members) {
    if (out.size() > 1) out += ", ";
    if (!member.starts_with(kEvents)) {
      out += member;
      continue;
    }
    out += kEvents;
    std::vector<std::string_view> events =
        PartsOf(member.substr(kEvents.size(), member.size() - kEvents.size() - 1));
    for (size_t i = events.size(); i > 1; --i) std::swap(events[i - 1], events[random.Below(i)]);
    for (size_t i = 0; i < events.size(); ++i) out.append(i == 0 ? "" : ", ").append(events[i]);
    out += "]";
  }
  return out + "}";
}

}  // namespace roofmark::trace
