// SPDX-License-Identifier: Apache-2.0
#include "gate/memory_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.h"
#include "device/fake_device.h"

namespace roofmark::gate {
namespace {

using testing::HasSubstr;

constexpr int64_t kGiB = int64_t{1} << 30;

TEST(MemoryWatch, OfADeviceWithoutMemoryOfItsOwnSuspectsNobody) {
  device::FakeDevice device;
  MemoryWatch watch;
  watch.Start(device);
  ASSERT_TRUE(watch.Before());
  ASSERT_TRUE(watch.After());
  EXPECT_EQ(watch.held(), 0);
  EXPECT_FALSE(watch.suspicious());
  EXPECT_TRUE(watch.CheckAfterDeath());
}

TEST(MemoryWatch, WhatTheJudgeAllocatesBetweenTwoQuestionsIsNotTheProcesss) {
  device::FakeDevice device;
  MemoryWatch watch;
  watch.Start(device);
  // A context of 1 GiB; then the judge takes 20 GiB; then a temporary of 2 GiB is kept.
  device.free_memory = {140 * kGiB, 139 * kGiB, 119 * kGiB, 117 * kGiB};
  for (int question = 0; question < 2; ++question) {
    ASSERT_TRUE(watch.Before());
    ASSERT_TRUE(watch.After());
  }
  EXPECT_EQ(watch.held(), 3 * kGiB);
  EXPECT_FALSE(watch.suspicious());
}

TEST(MemoryWatch, AProcessThatTakesEverythingIsConvictedByWhatComesBack) {
  device::FakeDevice device;
  MemoryWatch watch;
  watch.Start(device);
  device.free_memory = {130 * kGiB, 0};
  ASSERT_TRUE(watch.Before());
  ASSERT_TRUE(watch.After());
  ASSERT_TRUE(watch.suspicious());
  bool ended = false;
  const auto reason = watch.Convict([&] {
    ended = true;
    device.free_memory = {kGiB, 130 * kGiB};  // the driver takes its time
  });
  ASSERT_TRUE(reason);
  ASSERT_TRUE(*reason);
  EXPECT_TRUE(ended);
  EXPECT_THAT(**reason, HasSubstr("139586437120 bytes"));
  EXPECT_THAT(**reason, HasSubstr("4294967296 bytes"));
}

TEST(MemoryWatch, MemoryThatSomebodyElseTookConvictsNobody) {
  device::FakeDevice device;
  MemoryWatch watch;
  watch.Start(device);
  device.free_memory = {130 * kGiB, 100 * kGiB};
  ASSERT_TRUE(watch.Before());
  ASSERT_TRUE(watch.After());
  ASSERT_TRUE(watch.suspicious());
  const auto reason = watch.Convict([&] { device.free_memory = {101 * kGiB}; });
  ASSERT_TRUE(reason);
  EXPECT_FALSE(*reason);
}

TEST(MemoryWatch, AnAllowanceGrowsWithWhatIsLentAndNeverShrinks) {
  EXPECT_EQ(AllowanceFor(Role::kCandidate, kGiB / 2, 130 * kGiB), 4 * kGiB);
  EXPECT_EQ(AllowanceFor(Role::kCandidate, 3 * kGiB, 130 * kGiB), 12 * kGiB);
  EXPECT_EQ(AllowanceFor(Role::kBaseline, kGiB / 2, 130 * kGiB), 65 * kGiB);
  device::FakeDevice device;
  MemoryWatch watch;
  watch.Start(device);
  watch.Allow(12 * kGiB);
  watch.Allow(5 * kGiB);
  device.free_memory = {130 * kGiB, 120 * kGiB};
  ASSERT_TRUE(watch.Before());
  ASSERT_TRUE(watch.After());
  EXPECT_FALSE(watch.suspicious());
}

TEST(MemoryWatch, ADeviceThatNoLongerAnswersIsTheMachinesFault) {
  device::FakeDevice device;
  MemoryWatch watch;
  watch.Start(device);
  device.sick = "filling a page did not end in 10 s";
  const Result<void> checked = watch.CheckAfterDeath();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind(), ErrorKind::kDevice);
  EXPECT_FALSE(CheckHealth(device, std::nullopt));
}

TEST(MemoryWatch, MemoryThatIsBackAfterADeathIsHealth) {
  device::FakeDevice device;
  MemoryWatch watch;
  watch.Start(device);
  device.free_memory = {130 * kGiB, 120 * kGiB, 120 * kGiB, 122 * kGiB, 130 * kGiB};
  ASSERT_TRUE(watch.Before());
  ASSERT_TRUE(watch.After());
  ASSERT_TRUE(watch.Before());  // the question that it died of
  EXPECT_TRUE(watch.CheckAfterDeath());
  EXPECT_TRUE(CheckHealth(device, 130 * kGiB));
}

TEST(MemoryWatch, MemoryThatStaysAwayIsALeakAndSaysHowMuch) {
  device::FakeDevice device;
  device.free_memory = {120 * kGiB};
  const Result<void> checked = CheckHealth(device, 130 * kGiB);
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message(), HasSubstr("10737418240 bytes"));
  EXPECT_THAT(checked.error().message(), HasSubstr("did not come back"));
}

}  // namespace
}  // namespace roofmark::gate
