// SPDX-License-Identifier: Apache-2.0
// Which operator or annotation a thread was in at a time, and what encloses it.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/profile.h"

namespace roofmark::trace {

class OpForest {
 public:
  explicit OpForest(const Profile& profile);

  // The row in profile.ops of the innermost interval of the thread that holds the time; kNone32
  // where there is none. Quick where times are asked for in their order: a thread's last place is
  // kept in `places`, which is the caller's.
  using Places = std::vector<uint32_t>;
  uint32_t Innermost(uint32_t thread, int64_t time_ns, Places& places) const;
  uint32_t Innermost(uint32_t thread, int64_t time_ns) const {
    Places places;
    return Innermost(thread, time_ns, places);
  }
  // The row that encloses a row, kNone32 for the outermost. Nesting deeper than 512 levels is cut:
  // no framework does it, and profiles are foreign data.
  uint32_t Parent(uint32_t row) const { return parents_[row]; }
  // All rows by thread, in order of start, longest first.
  const std::vector<uint32_t>& InOrder() const { return order_; }
  // Whether `ancestor` is the row itself or encloses it.
  bool Encloses(uint32_t ancestor, uint32_t row) const;

 private:
  uint32_t CountBegun(uint32_t thread, int64_t time_ns, uint32_t near) const;

  const Profile& profile_;
  std::vector<uint32_t> order_;   // rows by thread, start, longest first
  std::vector<uint32_t> begins_;  // of each thread in order_; one more at the end
  std::vector<uint32_t> parents_;
};

}  // namespace roofmark::trace
