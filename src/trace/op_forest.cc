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
  const Rows<CpuOp>& ops = profile.ops;
  std::iota(order_.begin(), order_.end(), 0);
  const auto before = [&](uint32_t a, uint32_t b) {
    const CpuOp& x = ops[a];
    const CpuOp& y = ops[b];
    if (x.thread != y.thread) return x.thread < y.thread;
    if (x.start_ns != y.start_ns) return x.start_ns < y.start_ns;
    return x.end_ns != y.end_ns ? x.end_ns > y.end_ns : a < b;
  };
  if (!std::ranges::is_sorted(order_, before)) SortNearlySorted(order_, before);
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

// How many intervals of the thread begin no later than the time. Searches in steps that double from
// `near` on.
uint32_t OpForest::CountBegun(uint32_t thread, int64_t time_ns, uint32_t near) const {
  const uint32_t* const first = order_.data() + begins_[thread];
  const uint32_t size = begins_[thread + 1] - begins_[thread];
  const auto begun = [&](uint32_t at) { return profile_.ops[first[at]].start_ns <= time_ns; };
  // All before `low` have begun, none from `high` on.
  uint32_t low = 0;
  uint32_t high = size;
  near = std::min(near, size);
  if (near > 0 && !begun(near - 1)) {
    high = near - 1;
    for (uint32_t step = 1; high > step; step *= 2) {
      if (begun(high - step)) {
        low = high - step + 1;
        break;
      }
      high -= step;
    }
  } else {
    low = near;
    for (uint32_t step = 1; size - low > step; step *= 2) {
      if (!begun(low + step - 1)) {
        high = low + step - 1;
        break;
      }
      low += step;
    }
  }
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    (begun(middle) ? low : high) = begun(middle) ? middle + 1 : middle;
  }
  return low;
}

uint32_t OpForest::Innermost(uint32_t thread, int64_t time_ns, Places& places) const {
  if (thread + 1 >= begins_.size()) return kNone32;
  if (places.size() <= thread) places.resize(begins_.size());
  uint32_t& place = places[thread];
  place = CountBegun(thread, time_ns, place);
  if (place == 0) return kNone32;
  uint32_t row = order_[begins_[thread] + place - 1];
  while (row != kNone32 && profile_.ops[row].end_ns < time_ns) row = parents_[row];
  return row;
}

bool OpForest::Encloses(uint32_t ancestor, uint32_t row) const {
  while (row != kNone32 && row != ancestor) row = parents_[row];
  return row == ancestor;
}

}  // namespace roofmark::trace
