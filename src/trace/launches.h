// SPDX-License-Identifier: Apache-2.0
// The launches of a profile. Identifiers are kept apart from the rest, since they are needed until
// every launch is linked and no longer: what comes after has their room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>

#include "trace/rows.h"
#include "trace/string_table.h"

namespace roofmark::trace {

inline constexpr uint64_t kNoId = UINT64_MAX;
inline constexpr uint32_t kNone32 = UINT32_MAX;

enum class LaunchKind : uint8_t { kKernel, kCopy, kFill };

// One execution on the device.
struct Launch {
  int64_t start_ns = 0;
  int64_t dur_ns = 0;            // never negative
  uint64_t correlation = kNoId;  // of the runtime call that launched it
  uint64_t external_id = kNoId;  // of the operator that launched it, where it can be trusted
  TextId name = kNoText;
  int32_t device = 0;
  uint32_t stream = kNone32;  // index of its stream's text
  LaunchKind kind = LaunchKind::kKernel;
};

// A table of launches that is read like a sequence of them.
class Launches {
 public:
  using value_type = Launch;

  class Iterator {
   public:
    using value_type = Launch;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;
    Iterator() = default;
    Iterator(const Launches* launches, size_t row) : launches_(launches), row_(row) {}
    Launch operator*() const { return (*launches_)[row_]; }
    Iterator& operator++() {
      ++row_;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++row_;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Launches* launches_ = nullptr;
    size_t row_ = 0;
  };

  Launches() = default;
  Launches(std::initializer_list<Launch> launches) {
    for (const Launch& launch : launches) push_back(launch);
  }

  size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }
  Launch operator[](size_t row) const {
    const Row& kept = rows_[row];
    const Ids ids = row < ids_.size() ? ids_[row] : Ids{};
    return {.start_ns = kept.start_ns,
            .dur_ns = kept.dur_ns,
            .correlation = ids.correlation,
            .external_id = ids.external_id,
            .name = kept.name,
            .device = kept.device,
            .stream = kept.stream,
            .kind = kept.kind};
  }
  Launch back() const { return (*this)[size() - 1]; }

  void push_back(const Launch& launch) {
    rows_.push_back(RowOf(launch));
    ids_.push_back({launch.correlation, launch.external_id});
  }
  // Requires: identifiers have not been dropped.
  void Set(size_t row, const Launch& launch) {
    rows_[row] = RowOf(launch);
    ids_[row] = {launch.correlation, launch.external_id};
  }
  // Launches have no identifiers from now on, and none can be added.
  void DropIds() { ids_ = {}; }

 private:
  struct Row {
    int64_t start_ns;
    int64_t dur_ns;
    TextId name;
    int32_t device;
    uint32_t stream;
    LaunchKind kind;
  };
  struct Ids {
    uint64_t correlation = kNoId;
    uint64_t external_id = kNoId;
  };
  static Row RowOf(const Launch& launch) {
    return {launch.start_ns, launch.dur_ns, launch.name, launch.device, launch.stream, launch.kind};
  }

  Rows<Row> rows_;
  Rows<Ids> ids_;
};

}  // namespace roofmark::trace
