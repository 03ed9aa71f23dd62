// SPDX-License-Identifier: Apache-2.0
// Finding the next event in text whose quotes or braces cannot be trusted. It rests on one fact: an
// unescaped `{"ph":` cannot occur inside a valid JSON string.
#pragma once

#include <cstddef>
#include <string_view>

namespace roofmark::trace {

// Walks `text`, which starts at the '{' of an event, and returns the offset of a later '{' that
// proves the first event damaged: an event starts there inside what looks like a string, or where
// an object would need a key. npos where nothing is wrong so far.
size_t FindSwallowedEvent(std::string_view text);

// The offset of the first '{' at or after `from` that is followed by a key of an event, whatever
// comes before it; npos where there is none.
size_t FindEventStart(std::string_view text, size_t from);

}  // namespace roofmark::trace
