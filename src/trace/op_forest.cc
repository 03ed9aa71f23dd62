// SPDX-License-Identifier: Apache-2.0
// Intervals of one thread nest, so a stack over them by start gives every parent.
#include "trace/op_forest.h"

#include <algorithm>
#include <numeric>

namespace roofmark::trace {
namespace {

constexpr size_t kMaxDepth = 512;

// Rows come nearly in order: a few annotations stand apart. Sorts those and merges them in.
template <typename Before>
void SortNearlySorted(std::vector<uint32_t>& rows, Before before) {
  std::vector<uint32_t> kept;
  std::vector<uint32_t> strays;
  kept.reserve(rows.size());
  for (const uint32_t row : rows) {
    if (kept.empty() || !before(row, kept.back())) {
      kept.push_back(row);
    } else if (kept.size() > 1 && !before(row, kept[kept.size() - 2])) {
      // The one before was too late, not this one too early.
      strays.push_back(kept.back());
      kept.back() = row;
    } else {
      strays.push_back(row);
    }
  }
  std::ranges::sort(strays, before);
  std::ranges::merge(kept, strays, rows.begin(), before);
}

}  // namespace

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
  SortNearlySorted(order_, before);
  std::vector<uint32_t> open;
  for (uint32_t at = 0; at < order_.size(); ++at) {
    const CpuOp& op = ops[order_[at]];
    while (begins_.size() <= op.thread) {
      begins_.push_back(at);
      open.clear();
    }
    while (!open.empty() && ops[open.back()].end_ns <= op.start_ns) open.pop_back();
    if (!open.empty() && open.size() % kMaxDepth != 0) parents_[order_[at]] = open.back();
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
