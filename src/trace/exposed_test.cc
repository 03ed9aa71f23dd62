// SPDX-License-Identifier: Apache-2.0
#include "trace/exposed.h"

#include <numeric>

#include "base/hash.h"
#include "base/testing.h"

namespace roofmark::trace {
namespace {

using testing::ElementsAre;

Launch At(int64_t start, int64_t dur, int32_t device = 0) {
  return {.start_ns = start, .dur_ns = dur, .device = device};
}

TEST(Exposure, IsTheDurationWhereNothingOverlaps) {
  const Launches kernels = {At(10, 5), At(0, 10), At(20, 1)};
  const Exposure exposure = ComputeExposure(kernels);
  EXPECT_THAT(exposure.exposed_ns, ElementsAre(5, 10, 1));
  EXPECT_EQ(exposure.union_ns, 16);
}

TEST(Exposure, HalvesTheOverlapAndGivesTheOddNanosecondToTheFirst) {
  // [0,10) and [5,12): 5 alone, 5 shared, 2 alone.
  EXPECT_THAT(ComputeExposure(Launches{At(0, 10), At(5, 7)}).exposed_ns, ElementsAre(8, 4));
}

TEST(Exposure, KeepsDevicesApart) {
  const Exposure exposure = ComputeExposure(Launches{At(0, 10, 0), At(0, 10, 1)});
  EXPECT_THAT(exposure.exposed_ns, ElementsAre(10, 10));
  EXPECT_EQ(exposure.union_ns, 20);
  EXPECT_EQ(exposure.devices, 2U);
}

TEST(Exposure, GivesKernelsOfNoDurationNothing) {
  EXPECT_THAT(ComputeExposure(Launches{At(0, 0), At(0, 4), At(2, 0)}).exposed_ns,
              ElementsAre(0, 4, 0));
}

TEST(Exposure, SharesAmongThousandsInNoTime) {
  Launches kernels;
  for (int64_t i = 0; i < 100000; ++i) kernels.push_back(At(0, i + 1));
  const Exposure exposure = ComputeExposure(kernels);
  EXPECT_EQ(exposure.union_ns, 100000);
  EXPECT_EQ(std::accumulate(exposure.exposed_ns.begin(), exposure.exposed_ns.end(), int64_t{0}),
            100000);
}

TEST(Exposure, AddsUpToTheUnionExactly) {
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    Launches kernels;
    std::vector<bool> busy(4000);
    for (int i = 0; i < 60; ++i) {
      const auto start = static_cast<int64_t>(random.Below(1000));
      const auto dur = static_cast<int64_t>(random.Below(90));
      const auto device = static_cast<int32_t>(random.Below(2));
      kernels.push_back(At(start, dur, device));
      for (int64_t t = start; t < start + dur; ++t) {
        busy[static_cast<size_t>(t + device * 2000)] = true;
      }
    }
    const Exposure exposure = ComputeExposure(kernels);
    EXPECT_EQ(exposure.union_ns, std::count(busy.begin(), busy.end(), true));
    EXPECT_EQ(std::accumulate(exposure.exposed_ns.begin(), exposure.exposed_ns.end(), int64_t{0}),
              exposure.union_ns);
  }
}

}  // namespace
}  // namespace roofmark::trace
