// SPDX-License-Identifier: Apache-2.0
// Intervals of one thread nest, so a stack over them by start gives every parent.
#include "trace/op_forest.h"

#include <algorithm>
#include <numeric>

namespace roofmark::trace {

OpForest::OpForest(const Profile& profile)
    : profile_(profile), order_(profile.ops.size()), parents_(profile.ops.size(), kNone32) {
  const std::vector<CpuOp>& ops = profile.ops;
  std::iota(order_.begin(), order_.end(), 0);
  const auto before = [&](uint32_t a, uint32_t b) {
    const CpuOp& x = ops[a];
    const CpuOp& y = ops[b];
    if (x.thread != y.thread) return x.thread < y.thread;
    if (x.start_ns != y.start_ns) return x.start_ns < y.start_ns;
    return x.end_ns != y.end_ns ? x.end_ns > y.end_ns : a < b;
  };
  if (!std::ranges::is_sorted(order_, before)) std::ranges::sort(order_, before);
  std::vector<uint32_t> open;
  for (uint32_t at = 0; at < order_.size(); ++at) {
    const CpuOp& op = ops[order_[at]];
    while (begins_.size() <= op.thread) {
      begins_.push_back(at);
      open.clear();
    }
    while (!open.empty() && ops[open.back()].end_ns <= op.start_ns) open.pop_back();
    if (!open.empty()) parents_[order_[at]] = open.back();
    open.push_back(order_[at]);
  }
  begins_.push_back(static_cast<uint32_t>(order_.size()));
}

uint32_t OpForest::Innermost(uint32_t thread, int64_t time_ns) const {
  if (thread + 1 >= begins_.size()) return kNone32;
  const auto first = order_.begin() + begins_[thread];
  const auto last = order_.begin() + begins_[thread + 1];
  const auto after = std::upper_bound(first, last, time_ns, [&](int64_t time, uint32_t row) {
    return time < profile_.ops[row].start_ns;
  });
  if (after == first) return kNone32;
  uint32_t row = *(after - 1);
  while (row != kNone32 && profile_.ops[row].end_ns < time_ns) row = parents_[row];
  return row;
}

bool OpForest::Encloses(uint32_t ancestor, uint32_t row) const {
  while (row != kNone32 && row != ancestor) row = parents_[row];
  return row == ancestor;
}

}  // namespace roofmark::trace
