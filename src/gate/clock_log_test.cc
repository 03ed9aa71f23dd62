// SPDX-License-Identifier: Apache-2.0
#include "gate/clock_log.h"

#include <gtest/gtest.h>

namespace roofmark::gate {
namespace {

TEST(ClockLog, WithoutReadingsTellsNothing) {
  ClockLog log;
  log.Add(std::nullopt);
  EXPECT_EQ(log.Text(), "");
}

TEST(ClockLog, AGpuWithoutNvmlSaysThatNobodyWatched) {
  ClockLog log;
  log.Miss();
  EXPECT_EQ(log.Text(), "clocks not watched: no NVML (roofmark doctor says why)");
}

TEST(ClockLog, SteadyClocksAreNotWorthAWord) {
  ClockLog log;
  log.Add(device::GpuState{.sm_mhz = 1980});
  log.Add(device::GpuState{.sm_mhz = 1900});
  EXPECT_EQ(log.Text(), "");
}

TEST(ClockLog, AnIdleGpusLowClockIsNoVariation) {
  ClockLog log;
  log.Add(device::GpuState{.sm_mhz = 345, .reasons = device::nvml::kGpuIdle});
  log.Add(device::GpuState{.sm_mhz = 1980});
  EXPECT_EQ(log.Text(), "");
}

TEST(ClockLog, ThrottlingSaysWhyAndHowOftenAndHowFar) {
  ClockLog log;
  log.Add(device::GpuState{.sm_mhz = 1980});
  log.Add(device::GpuState{.sm_mhz = 1410, .reasons = 0x4});
  EXPECT_EQ(log.Text(),
            "throttled: power cap (in 1 of 2 readings); clocks varied 1410 to 1980 MHz");
}

}  // namespace
}  // namespace roofmark::gate
