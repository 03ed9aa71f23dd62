// SPDX-License-Identifier: Apache-2.0
// The same event in another layout: what stands between its members and values changes, and nothing
// else.
#pragma once

#include <string>
#include <string_view>

namespace roofmark::trace {

enum class EventLayout {
  kNative,   // as Kineto writes: a few members a line, two spaces a level
  kOneLine,  // as tools rewrite it, without a line break
};

// Requires: an event from its '{' to its '}'. Texts, numbers and the order of members stay as they
// are.
std::string WithLayout(std::string_view event, EventLayout layout);

}  // namespace roofmark::trace
