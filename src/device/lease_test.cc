// SPDX-License-Identifier: Apache-2.0
#include "device/lease.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::device {
namespace {

TEST(Lease, ASecondJudgeWaitsAndIsToldWhoHoldsIt) {
  const Result<TempDir> folder = TempDir::Make("roofmark-lease");
  ASSERT_THAT(folder, IsOk());
  const DeviceInfo device{.name = "a device", .uuid = "GPU-1"};
  Result<Lease> taken = Lease::TakeIn(folder->path(), device, nullptr, 0);
  ASSERT_THAT(taken, IsOk());
  std::optional<Lease> first = std::move(*taken);
  std::atomic<bool> told = false;
  std::string holder;
  std::thread second([&] {
    const auto waiting = [&](const std::string& who) {
      holder = who;
      told = true;
    };
    EXPECT_THAT(Lease::TakeIn(folder->path(), device, waiting, 0), IsOk());
  });
  while (!told) std::this_thread::yield();
  first.reset();
  second.join();
  EXPECT_EQ(holder, "process " + std::to_string(::getpid()));
}

TEST(Lease, DifferentDevicesDoNotWaitForEachOther) {
  const Result<TempDir> folder = TempDir::Make("roofmark-lease");
  ASSERT_THAT(folder, IsOk());
  const auto one = Lease::TakeIn(folder->path(), {.uuid = "GPU-1"}, nullptr, 0);
  const auto two = Lease::TakeIn(folder->path(), {.uuid = "GPU-2"}, nullptr, 0);
  const auto cpu = Lease::TakeIn(folder->path(), {}, nullptr, 0);
  EXPECT_THAT(one, IsOk());
  EXPECT_THAT(two, IsOk());
  EXPECT_THAT(cpu, IsOk());
}

TEST(Lease, AFolderThatCannotHoldALockIsNamed) {
  const Result<Lease> lease = Lease::TakeIn("/nonexistent", {.name = "a device"}, nullptr, 0);
  EXPECT_THAT(lease, HasError(ErrorKind::kIo, "/nonexistent/roofmark-cpu.lock"));
}

}  // namespace
}  // namespace roofmark::device
