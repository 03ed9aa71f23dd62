// SPDX-License-Identifier: Apache-2.0
// A sweep over starts and ends, device by device. What each running kernel gets is the same, so one
// running total serves all of them.
#include "trace/exposed.h"

#include <algorithm>
#include <compare>
#include <numeric>
#include <queue>
#include <span>
#include <utility>

namespace roofmark::trace {
namespace {

template <typename T>
using SmallestFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;

struct Running {
  int64_t end_ns = 0;
  uint32_t rank = 0;     // by start
  int64_t begun_at = 0;  // what a kernel that has run all along would have had when it started
  auto operator<=>(const Running&) const = default;
};

class DeviceSweep {
 public:
  DeviceSweep(const Launches& kernels, Exposure& exposure)
      : kernels_(kernels), exposure_(exposure) {}

  // `order` holds the kernels of one device by start.
  void Run(std::span<const uint32_t> order) {
    for (uint32_t rank = 0; rank < order.size(); ++rank) {
      const Launch kernel = kernels_[order[rank]];
      FinishUntil(kernel.start_ns, order);
      now_ = kernel.start_ns;
      if (kernel.dur_ns == 0) continue;
      ends_.push({kernel.start_ns + kernel.dur_ns, rank, each_});
      oldest_.push(rank);
    }
    FinishUntil(INT64_MAX, order);
  }

 private:
  void FinishUntil(int64_t until, std::span<const uint32_t> order) {
    while (!ends_.empty() && ends_.top().end_ns <= until) {
      const Running kernel = ends_.top();
      Pass(kernel.end_ns, order);
      ends_.pop();
      finished_.push(kernel.rank);
      exposure_.exposed_ns[order[kernel.rank]] += each_ - kernel.begun_at;
    }
    if (!ends_.empty()) Pass(until, order);
  }

  // Time passes while the same kernels run.
  void Pass(int64_t until, std::span<const uint32_t> order) {
    const int64_t length = until - now_;
    now_ = until;
    if (length <= 0) return;
    while (!finished_.empty() && finished_.top() == oldest_.top()) {
      finished_.pop();
      oldest_.pop();
    }
    const auto running = static_cast<int64_t>(ends_.size());
    each_ += length / running;
    exposure_.exposed_ns[order[oldest_.top()]] += length % running;
    exposure_.union_ns += length;
  }

  const Launches& kernels_;
  Exposure& exposure_;
  int64_t now_ = 0;
  int64_t each_ = 0;                // what a kernel that has run all along would have
  SmallestFirst<Running> ends_;     // of running kernels
  SmallestFirst<uint32_t> oldest_;  // ranks; finished ones leave when they lead
  SmallestFirst<uint32_t> finished_;
};

}  // namespace

Exposure ComputeExposure(const Launches& kernels) {
  Exposure exposure{.exposed_ns = std::vector<int64_t>(kernels.size())};
  std::vector<uint32_t> order(kernels.size());
  std::iota(order.begin(), order.end(), 0);
  const auto by_start = [&](uint32_t kernel) {
    return std::pair(kernels[kernel].device, kernels[kernel].start_ns);
  };
  if (!std::ranges::is_sorted(order, {}, by_start)) std::ranges::stable_sort(order, {}, by_start);
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && kernels[order[end]].device == kernels[order[begin]].device) ++end;
    DeviceSweep(kernels, exposure).Run(std::span(order).subspan(begin, end - begin));
    ++exposure.devices;
    begin = end;
  }
  return exposure;
}

}  // namespace roofmark::trace
