// SPDX-License-Identifier: Apache-2.0
// Exposed time: overlapping kernels share the time in which they overlap, so that the parts add up
// to the time in which the device was busy. The plain sum of durations counts it twice.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/launches.h"

namespace roofmark::trace {

struct Exposure {
  std::vector<int64_t> exposed_ns;  // by kernel, in the order given
  int64_t union_ns = 0;             // summed over devices
  uint64_t devices = 0;
};

// An instant covered by k kernels of a device gives 1/k to each. What whole nanoseconds cannot
// share goes to the kernel that started first (of equal starts, the first in the profile): less
// than k ns for each stretch between two starts or ends. Guarantees: the sum of exposed_ns is
// union_ns exactly. Takes n log n time however many overlap.
Exposure ComputeExposure(const Launches& kernels);

}  // namespace roofmark::trace
