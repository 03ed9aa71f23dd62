// SPDX-License-Identifier: Apache-2.0
#include "device/nvml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/fake_nvml.h"

namespace roofmark::device {
namespace {

using testing::HasSubstr;

TEST(Nvml, ReadsClocksPowerAndTemperature) {
  const auto opened = Nvml::Open(FakeNvml::Api(), FakeNvml::kUuid);
  ASSERT_TRUE(opened);
  const GpuState state = (*opened)->Read();
  EXPECT_EQ(state.sm_mhz, 1980);
  EXPECT_EQ(state.memory_mhz, 3201);
  EXPECT_EQ(state.celsius, 41);
  EXPECT_EQ(state.watts, 312.5);
  EXPECT_FALSE(state.idle());
  const GpuLimits limits = (*opened)->ReadLimits();
  EXPECT_EQ(limits.driver, "580.1");
  EXPECT_EQ(limits.power_limit_w, 700);
}

TEST(Nvml, WhatTheGpuDoesNotTellIsAbsentAndNotZero) {
  const auto opened = Nvml::Open(FakeNvml::Api(), FakeNvml::kUuid);
  ASSERT_TRUE(opened);
  FakeNvml::tells_power = false;
  EXPECT_FALSE((*opened)->Read().watts);
  FakeNvml::tells_power = true;
}

TEST(Nvml, AGpuThatItDoesNotKnowIsNamed) {
  const auto opened = Nvml::Open(FakeNvml::Api(), "GPU-other");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind(), ErrorKind::kDevice);
  EXPECT_THAT(opened.error().message(), HasSubstr("GPU-other"));
}

TEST(Nvml, AnIdleGpuIsNotThrottled) {
  EXPECT_EQ(ThrottleText(nvml::kGpuIdle), "");
  EXPECT_EQ(ThrottleText(0x4 | 0x20), "power cap, thermal slowdown");
}

}  // namespace
}  // namespace roofmark::device
