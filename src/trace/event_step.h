// SPDX-License-Identifier: Apache-2.0
// What has been learnt of the layouts of events: steps from value to value.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/event_fields.h"
#include "trace/known_lists.h"

namespace roofmark::trace {

// What a value in an event is for.
enum class FieldUse : uint8_t {
  kNone,
  kName,
  kPid,
  kTid,
  kTs,
  kDur,
  kExternalId,
  kCorrelation,
  kDevice,
  kStream,
  kDims,
  kTypes,
  kConcrete,
  kRecord,
  kKernel,
  kHead,  // of "ph" or "cat", which the category has told
  kArgs,  // of "args", where it is no object
  kEnd,   // of the event: there is no value
};

// The field that a value sets; nullptr where it sets none.
std::string_view EventFields::* FieldOf(FieldUse use);

// Whether a list is asked for; of other uses, only strings and words.
inline bool WantsList(FieldUse use) {
  return use == FieldUse::kDims || use == FieldUse::kTypes || use == FieldUse::kConcrete;
}

inline constexpr size_t kMaxStepText = 64;
inline constexpr size_t kMaxFixed = 5;
// A value inside a text, which has been the same in every event so far.
struct FixedValue {
  FieldUse use = FieldUse::kNone;
  uint8_t begin = 0;
  uint8_t size = 0;
  uint8_t member = 0;  // where the text before it begins
};
// The text before a value, and what comes after: `next` behind the value, `other` where the text
// is another one; 0 = nothing known.
struct EventStep {
  std::array<char, kMaxStepText> text = {};
  std::array<char, kMaxStepText> mask = {};  // ones where the text is
  uint8_t size = 0;
  FieldUse use = FieldUse::kNone;
  uint16_t next = 0;
  uint16_t other = 0;
  uint8_t fixed_count = 0;
  std::array<FixedValue, kMaxFixed> fixed = {};
  std::string_view view() const { return {text.data(), size}; }
};

// Where the list ends that begins at the lowest bit, from the bits of brackets outside strings: of
// "[1, 2]" and of "[[1, 2], [3], []]". 64 for other lists and for those that end behind the bits.
size_t FlatListEnd(uint64_t open, uint64_t close);

// Reads an event by steps from `first` on, a value at a time and without a look at the rest. False
// where it has another layout, and where a value is unusual; fields then have no meaning.
// Requires: the CPU has AVX-512 (CanHop), Window::kPadding readable bytes behind the event; `known`
// has learnt with these steps alone, to which others may have been added.
bool HopEvent(const std::vector<EventStep>& steps, uint16_t first, std::string_view event,
              KnownLists& known, EventFields& fields);
bool CanHop();

}  // namespace roofmark::trace
