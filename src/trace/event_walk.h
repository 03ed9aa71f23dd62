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
#include "trace/event_step.h"
#include "trace/known_lists.h"

namespace roofmark::trace {

class UsualEvents {
 public:
  UsualEvents() : hop_(CanHop()) {}
  // The way of every CPU, or that of those that CanHop; for tests.
  explicit UsualEvents(bool hop) : hop_(hop) {}

  // False, and fields of no meaning, where the event is unusual. Guarantees: of an event that is
  // JSON, fields that are read here are those that EventParser's other way reads; of a damaged one
  // that is taken, members and brackets are in order. Requires: Window::kPadding readable bytes
  // behind the event; empty fields; ReadCategory says `category`, by which layouts are kept.
  bool Read(std::string_view event, Category category, EventFields& fields);

 private:
  using Step = EventStep;
  class Walker;

  bool Follow(Walker& walker, uint16_t first) const;
  void Learn(const Walker& walker, uint16_t& first);
  // The step that begins with a member; sets `at` to the member that it reads.
  Step MakeStep(const Walker& walker, size_t& at) const;
  bool Varies(std::string_view before) const;
  // Notes the value in which two steps differ, where they differ in that alone so far.
  bool NoteVarying(const Step& one, const Step& other);

  bool hop_;
  std::array<uint16_t, 16> first_ = {};  // by category
  std::vector<Step> steps_ = std::vector<Step>(1);
  KnownLists known_;
  std::vector<std::string> varying_;  // texts before values that are not the same in every event
};

}  // namespace roofmark::trace
