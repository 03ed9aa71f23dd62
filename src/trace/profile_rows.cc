// SPDX-License-Identifier: Apache-2.0
#include "trace/profile_rows.h"

#include <fmt/format.h>

#include <unordered_set>

namespace roofmark::trace {

bool ProfileRows::Take(RowTimes& times) {
  int64_t dur = 0;
  if (__builtin_sub_overflow(times.end_ns, times.start_ns, &dur)) {
    Damaged();
    return false;
  }
  ++profile_.events;
  if (dur < 0) {
    ++profile_.loss.negative_dur;
    times.end_ns = times.start_ns;
  }
  return true;
}

void ProfileRows::Add(const Launch& launch) {
  if (launch.dur_ns == 0) ++profile_.loss.zero_dur;
  (launch.kind == LaunchKind::kKernel ? profile_.kernels : profile_.copies).push_back(launch);
}

void ProfileRows::AddNode(const Launch& launch, uint32_t node) {
  Add(launch);
  profile_.node_of.push_back(node);
}

void ProfileRows::AddCall(const RowTimes& times, uint64_t correlation, TextId name,
                          uint32_t thread) {
  profile_.calls.push_back({.start_ns = times.start_ns,
                            .end_ns = times.end_ns,
                            .correlation = correlation,
                            .name = name,
                            .thread = thread});
}

TextId ProfileRows::NamelessKernel(int64_t number) {
  return profile_.text.Intern(fmt::format("[kernel {}]", number));
}

void ProfileRows::DropIdleCalls() {
  std::unordered_set<uint64_t> launched;
  for (const auto* launches : {&profile_.kernels, &profile_.copies}) {
    for (const Launch& launch : *launches) launched.insert(launch.correlation);
  }
  profile_.skipped += erase_if(profile_.calls, [&](const RuntimeCall& call) {
    return call.correlation == kNoId || !launched.contains(call.correlation);
  });
}

void ProfileRows::AddMarker(const RowTimes& times, TextId name, uint32_t thread) {
  ++profile_.user_annotations;
  profile_.ops.push_back({.start_ns = times.start_ns,
                          .end_ns = times.end_ns,
                          .name = name,
                          .thread = thread,
                          .annotation = true});
}

}  // namespace roofmark::trace
