// SPDX-License-Identifier: Apache-2.0
// A sweep over starts and ends, device by device.
#include "trace/exposed.h"

#include <algorithm>
#include <numeric>

namespace roofmark::trace {
namespace {

// Hands out [from, to) to the kernels that run in it; they are in order of start.
void Share(int64_t from, int64_t to, std::span<const uint32_t> running, Exposure& exposure) {
  const int64_t length = to - from;
  if (length <= 0 || running.empty()) return;
  const auto count = static_cast<int64_t>(running.size());
  const int64_t each = length / count;
  int64_t rest = length % count;
  for (const uint32_t kernel : running) {
    exposure.exposed_ns[kernel] += each + (rest > 0 ? 1 : 0);
    if (rest > 0) --rest;
  }
  exposure.union_ns += length;
}

// `order` holds the kernels of one device by start.
void SweepDevice(std::span<const Launch> kernels, std::span<const uint32_t> order,
                 Exposure& exposure) {
  const auto end_of = [&](uint32_t kernel) {
    return kernels[kernel].start_ns + kernels[kernel].dur_ns;
  };
  std::vector<uint32_t> running;
  int64_t now = 0;
  const auto advance = [&](int64_t until) {
    while (!running.empty()) {
      int64_t next = until;
      for (const uint32_t kernel : running) next = std::min(next, end_of(kernel));
      Share(now, next, running, exposure);
      now = std::max(now, next);
      std::erase_if(running, [&](uint32_t kernel) { return end_of(kernel) <= now; });
      if (now >= until) break;
    }
    now = until;
  };
  for (const uint32_t kernel : order) {
    if (running.empty()) {
      now = kernels[kernel].start_ns;
    } else {
      advance(kernels[kernel].start_ns);
    }
    if (kernels[kernel].dur_ns > 0) running.push_back(kernel);
  }
  advance(INT64_MAX);
}

}  // namespace

Exposure ComputeExposure(std::span<const Launch> kernels) {
  Exposure exposure{.exposed_ns = std::vector<int64_t>(kernels.size())};
  std::vector<uint32_t> order(kernels.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](uint32_t kernel) {
    return std::pair(kernels[kernel].device, kernels[kernel].start_ns);
  });
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin;
    while (end < order.size() && kernels[order[end]].device == kernels[order[begin]].device) ++end;
    SweepDevice(kernels, std::span(order).subspan(begin, end - begin), exposure);
    ++exposure.devices;
    begin = end;
  }
  return exposure;
}

}  // namespace roofmark::trace
