// SPDX-License-Identifier: Apache-2.0
// From identifiers to rows: correlation ids to runtime calls, External ids to operators. Duplicates
// are kept, chained in the order in which they were added.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "trace/profile.h"

namespace roofmark::trace {

class IdIndex {
 public:
  // `ids` is how many distinct ids there will be at most.
  IdIndex(size_t rows, size_t ids)
      : slots_(std::bit_ceil(2 * std::min(rows, ids) + 16)), next_(rows, kNone32) {}
  explicit IdIndex(size_t rows) : IdIndex(rows, rows) {}

  // Requires: row < rows, added once.
  void Add(uint64_t id, uint32_t row) {
    Slot& slot = slots_[SlotOf(id)];
    if (slot.first == kNone32) {
      slot = {id, row, row};
    } else {
      next_[slot.last] = row;
      slot.last = row;
    }
  }

  // The first row with this id, or kNone32; Next goes on from there.
  uint32_t First(uint64_t id) const { return slots_[SlotOf(id)].first; }
  uint32_t Next(uint32_t row) const { return next_[row]; }

 private:
  struct Slot {
    uint64_t id = 0;
    uint32_t first = kNone32;
    uint32_t last = kNone32;
  };

  size_t SlotOf(uint64_t id) const {
    const size_t mask = slots_.size() - 1;
    size_t at = (id * 0x9E3779B97F4A7C15U >> 32) & mask;
    while (slots_[at].first != kNone32 && slots_[at].id != id) at = (at + 1) & mask;
    return at;
  }

  std::vector<Slot> slots_;
  std::vector<uint32_t> next_;
};

}  // namespace roofmark::trace
