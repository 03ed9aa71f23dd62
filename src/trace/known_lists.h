// SPDX-License-Identifier: Apache-2.0
// The lists of arguments that operators had before: sizes, types and scalars stand side by side in
// an event, are most of its bytes, and are the same in many events. Those are compared as a whole
// instead of being read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "trace/event_fields.h"

namespace roofmark::trace {

class KnownLists {
 public:
  static constexpr size_t kSlots = 1024;
  static constexpr size_t kMaxSize = 1024;  // bytes of the lists of one event
  static constexpr size_t kLeast = 32;      // bytes of an event from its lists on

  // Lists that stood between two steps of an event's layout (event_step.h).
  struct Entry {
    uint64_t tag = 0;
    uint64_t seen = 0;    // the tag of lists that came once and may come again
    uint32_t number = 0;  // of these lists, never given twice; 0 = none
    uint32_t size = 0;
    uint16_t step = 0;       // before the first of them
    uint16_t next = 0;       // behind the last of them
    std::vector<char> text;  // with room for a load behind it
    std::string_view dims;   // views into the text
    std::string_view types;
    std::string_view concrete;
  };

  // What tells lists apart without reading them all. Requires: kLeast bytes.
  static uint64_t TagOf(std::string_view rest, uint16_t step) {
    const auto word = [&](size_t at) {
      uint64_t value = 0;
      std::memcpy(&value, rest.data() + at, sizeof(value));
      return value;
    };
    const size_t quarter = rest.size() / 4;
    uint64_t tag = (word(0) + rest.size()) * 0x9E3779B97F4A7C15U;
    tag = (tag ^ tag >> 29 ^ word(quarter)) * 0xD6E8FEB86659FD93U;
    tag = (tag ^ tag >> 31 ^ word(2 * quarter)) * 0x9E3779B97F4A7C15U;
    tag = (tag ^ tag >> 29 ^ word(3 * quarter) ^ step) * 0xD6E8FEB86659FD93U;
    return tag;
  }
  Entry& EntryOf(uint64_t tag) { return entries_[tag >> 54]; }

  // The lists were read from `text`, into the fields. What comes once only is not worth keeping.
  void Learn(uint64_t tag, uint16_t step, uint16_t next, std::string_view text,
             const EventFields& fields);
  // Steps mean something else from now on.
  void Forget();

 private:
  std::vector<Entry> entries_ = std::vector<Entry>(kSlots);
  uint32_t given_ = 0;
};

}  // namespace roofmark::trace
