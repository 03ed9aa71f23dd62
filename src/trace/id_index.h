// SPDX-License-Identifier: Apache-2.0
// From identifiers to rows: correlation ids to runtime calls, External ids to operators. Duplicates
// are kept, in the order of their rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "trace/profile.h"

namespace roofmark::trace {

// Profilers number what they record, so the identifiers of a profile come in dense runs: pages of
// places for them are smaller and quicker than a table by hash, which serves the other profiles.
class IdIndex {
 public:
  IdIndex() = default;
  // Indexes the rows 0 ... rows - 1 by id_of(row), except those without an id (kNoId).
  // Requires: rows < 2^31.
  template <typename IdOf>
  IdIndex(size_t rows, IdOf id_of) : rows_(rows) {
    uint64_t least = UINT64_MAX;
    uint64_t most = 0;
    size_t count = 0;
    for (uint32_t row = 0; row < rows; ++row) {
      const uint64_t id = id_of(row);
      if (id == kNoId) continue;
      least = std::min(least, id);
      most = std::max(most, id);
      ++count;
    }
    if (count == 0) return;
    first_id_ = least;
    if (most - least < kMaxSpread * count + kPage) MakePages(most, id_of);
    if (pages_.empty() || last_.size() > kMaxPlaces * count + kPage) {
      pages_ = {};
      last_ = {};
      ids_.resize(std::bit_ceil(count + count / 2 + 1));
      last_.resize(ids_.size(), kNone32);
    }
    for (uint32_t row = 0; row < rows; ++row) {
      const uint64_t id = id_of(row);
      if (id != kNoId) Add(id, row);
    }
  }

  // The first row with this id, or kNone32; Next goes on from there.
  uint32_t First(uint64_t id) const {
    const size_t slot = SlotOf(id);
    const uint32_t last = slot < last_.size() ? last_[slot] : kNone32;
    if (last == kNone32 || next_.empty() || next_[last] == kNone32) return last;
    return next_[last] & ~kWraps;
  }
  uint32_t Next(uint32_t row) const {
    return next_.empty() || (next_[row] & kWraps) != 0 ? kNone32 : next_[row];
  }
  // How many ids several rows have.
  size_t shared() const { return shared_; }

 private:
  static constexpr size_t kPage = 64;
  static constexpr uint64_t kMaxSpread = 64;  // ids between the least and the most, for each row
  static constexpr size_t kMaxPlaces = 6;     // on pages, for each row
  static constexpr uint32_t kWraps = 0x80000000;  // from the last row of an id to its first

  // Pages for those parts of the range that have ids.
  template <typename IdOf>
  void MakePages(uint64_t most, IdOf id_of) {
    pages_.resize((most - first_id_) / kPage + 1, kNone32);
    uint32_t made = 0;
    for (uint32_t row = 0; row < rows_; ++row) {
      const uint64_t id = id_of(row);
      if (id == kNoId) continue;
      uint32_t& page = pages_[(id - first_id_) / kPage];
      if (page == kNone32) page = made++;
    }
    last_.resize(size_t{made} * kPage, kNone32);
  }

  // Where the id's last row is or would be; SIZE_MAX where there is no such place.
  size_t SlotOf(uint64_t id) const {
    if (ids_.empty()) {
      const uint64_t page = (id - first_id_) / kPage;
      if (page >= pages_.size() || pages_[page] == kNone32) return SIZE_MAX;
      return size_t{pages_[page]} * kPage + (id - first_id_) % kPage;
    }
    const size_t mask = ids_.size() - 1;
    size_t at = (id * 0x9E3779B97F4A7C15U >> 32) & mask;
    while (last_[at] != kNone32 && ids_[at] != id) at = (at + 1) & mask;
    return at;
  }

  void Add(uint64_t id, uint32_t row) {
    const size_t slot = SlotOf(id);
    uint32_t& last = last_[slot];
    if (last == kNone32) {
      if (!ids_.empty()) ids_[slot] = id;
    } else {
      if (next_.empty()) next_.resize(rows_, kNone32);
      const bool second = next_[last] == kNone32;
      shared_ += second ? 1 : 0;
      next_[row] = second ? last | kWraps : next_[last];
      next_[last] = row;
    }
    last = row;
  }

  size_t rows_ = 0;
  uint64_t first_id_ = 0;
  std::vector<uint32_t> pages_;  // by distance from first_id_; empty where slots are by hash
  std::vector<uint64_t> ids_;    // by slot; empty where they are on pages
  std::vector<uint32_t> last_;   // by slot: the last row
  std::vector<uint32_t> next_;   // by row; empty where no id is shared
  size_t shared_ = 0;
};

}  // namespace roofmark::trace
