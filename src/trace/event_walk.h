// SPDX-License-Identifier: Apache-2.0
// Reads the fields of an event as profilers write it: plain ASCII, every member with its comma.
// Nearly all events are such, and need no parser. What is unusual in any way is left to
// EventParser, which decides what it means.
// What a profiler writes between the values is the same from event to event, and so are many of the
// values. That is learnt from the first events and then compared.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event_fields.h"
#include "trace/event_head.h"

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

class UsualEvents {
 public:
  // False, and fields of no meaning, where the event is unusual. Guarantees: of an event that is
  // JSON, fields that are read here are those that EventParser's other way reads; of a damaged one
  // that is taken, members and brackets are in order. Requires: Window::kPadding readable bytes
  // behind the event; empty fields; ReadCategory says `category`, by which layouts are kept.
  bool Read(std::string_view event, Category category, EventFields& fields);

 private:
  static constexpr size_t kMaxText = 64;
  static constexpr size_t kMaxFixed = 5;
  // A value inside a text, which has been the same in every event so far.
  struct Fixed {
    FieldUse use = FieldUse::kNone;
    uint8_t begin = 0;
    uint8_t size = 0;
    uint8_t member = 0;  // where the text before it begins
  };
  // The text before a value, and what comes after: `next` behind the value, `other` where the text
  // is another one; 0 = nothing known.
  struct Step {
    std::array<char, kMaxText> text = {};
    std::array<char, kMaxText> mask = {};  // ones where the text is
    uint8_t size = 0;
    FieldUse use = FieldUse::kNone;
    uint16_t next = 0;
    uint16_t other = 0;
    uint8_t fixed_count = 0;
    std::array<Fixed, kMaxFixed> fixed = {};
    std::string_view view() const { return {text.data(), size}; }
  };
  class Walker;

  bool Follow(Walker& walker, uint16_t first) const;
  void Learn(const Walker& walker, uint16_t& first);
  // The step that begins with a member; sets `at` to the member that it reads.
  Step MakeStep(const Walker& walker, size_t& at) const;
  bool Varies(std::string_view before) const;
  // Notes the value in which two steps differ, where they differ in that alone so far.
  bool NoteVarying(const Step& one, const Step& other);

  std::array<uint16_t, 16> first_ = {};  // by category
  std::vector<Step> steps_ = std::vector<Step>(1);
  std::vector<std::string> varying_;  // texts before values that are not the same in every event
};

}  // namespace roofmark::trace
