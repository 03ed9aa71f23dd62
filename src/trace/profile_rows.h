// SPDX-License-Identifier: Apache-2.0
// What the readers of tables share: times are checked in one place, and threads, streams and
// processes get small numbers.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "trace/profile.h"

namespace roofmark::trace {

// Foreign numbers to 0, 1, 2, ... in the order in which they are first seen.
class Numbering {
 public:
  uint32_t Of(uint64_t id) {
    if (last_ != kNone32 && id == last_id_) return last_;
    last_id_ = id;
    last_ = numbers_.try_emplace(id, static_cast<uint32_t>(numbers_.size())).first->second;
    return last_;
  }
  size_t size() const { return numbers_.size(); }

 private:
  std::unordered_map<uint64_t, uint32_t> numbers_;
  uint64_t last_id_ = 0;
  uint32_t last_ = kNone32;
};

struct RowTimes {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// Runs and processes of one file number their calls, threads and streams alike: a number that is
// one only within its run.
inline uint64_t OfRun(uint32_t run, int64_t number) {
  return uint64_t{run} << 40 ^ static_cast<uint64_t>(number);
}

class ProfileRows {
 public:
  explicit ProfileRows(Profile& profile) : profile_(profile) {}

  // False, and counted as damaged, where the times do not fit 64 bits; an end before the start is
  // counted and becomes the start. Every row that is taken or skipped counts as an event.
  bool Take(RowTimes& times);
  void Skip() {
    ++profile_.events;
    ++profile_.skipped;
  }
  void Damaged(uint64_t bytes = 0) {
    ++profile_.loss.split.damaged_events;
    profile_.loss.split.damaged_bytes += bytes;
  }

  // Adds a launch whose times were taken; `node` only for formats that know nodes.
  void Add(const Launch& launch);
  void AddNode(const Launch& launch, uint32_t node);
  // The same of a call that launches, and of a range that somebody marked in the source.
  void AddCall(const RowTimes& times, uint64_t correlation, TextId name, uint32_t thread);
  void AddMarker(const RowTimes& times, TextId name, uint32_t thread);

  // The name of a kernel of which the file tells only a number.
  TextId NamelessKernel(int64_t number);
  // Drops calls that launched nothing, as skipped. For readers that meet calls before launches.
  void DropIdleCalls();

  Numbering threads;
  Numbering streams;
  Numbering processes;

 private:
  Profile& profile_;
};

}  // namespace roofmark::trace
