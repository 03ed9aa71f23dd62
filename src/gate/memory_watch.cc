// SPDX-License-Identifier: Apache-2.0
#include "gate/memory_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/text.h"

namespace roofmark::gate {
namespace {

// The driver gives a dead process's memory back in well under a second.
constexpr int kWaits = 100;
constexpr std::chrono::milliseconds kWait{50};
// Contexts of ours, page tables and other programs' small allocations move free memory by this.
constexpr int64_t kSlack = int64_t{512} << 20;

std::string Bytes(int64_t bytes) {
  return fmt::format("{} bytes ({})", bytes, HumanBytes(static_cast<double>(bytes)));
}

Result<int64_t> WaitUntilFree(device::Device& device, int64_t enough) {
  int64_t now = 0;
  for (int wait = 0; wait < kWaits; ++wait) {
    if (wait > 0) std::this_thread::sleep_for(kWait);
    now = TRY(device.FreeMemory()).value_or(enough);
    if (now >= enough) break;
  }
  return now;
}

std::unexpected<Error> Leaked(int64_t missing) {
  return Fail(ErrorKind::kDevice,
              fmt::format("{} of the device's memory did not come back after a candidate's process "
                          "ended: a process of it may be left, or another program uses this "
                          "device (nvidia-smi lists them)",
                          Bytes(missing)));
}

}  // namespace

int64_t AllowanceFor(Role role, int64_t lent_bytes, int64_t free_bytes) {
  const int64_t allowance =
      std::max(MemoryAllowance::kFloor, MemoryAllowance::kTimesLent * lent_bytes);
  return role == Role::kBaseline ? std::max(allowance, free_bytes / 2) : allowance;
}

void MemoryWatch::Start(device::Device& device) {
  device_ = &device;
  allowed_ = MemoryAllowance::kFloor;
  held_ = 0;
}

void MemoryWatch::Allow(int64_t bytes) {
  allowed_ = std::max(allowed_, bytes);
}

Result<int64_t> MemoryWatch::Free() {
  if (device_ == nullptr) return 0;
  return TRY(device_->FreeMemory()).value_or(0);
}

Result<void> MemoryWatch::Before() {
  free_before_ = TRY(Free());
  return {};
}

Result<void> MemoryWatch::After() {
  held_ += free_before_ - TRY(Free());
  return {};
}

Result<int64_t> MemoryWatch::WaitForFree(int64_t enough) {
  return TRY(WaitUntilFree(*device_, enough));
}

Result<std::optional<std::string>> MemoryWatch::Convict(const std::function<void()>& end) {
  const int64_t before = TRY(Free());
  end();
  const int64_t returned = TRY(WaitForFree(before + held_ - kSlack)) - before;
  if (returned <= allowed_) return std::optional<std::string>();
  return std::optional<std::string>(
      fmt::format("it held {} of device memory beyond what it was lent; {} are allowed "
                  "(docs/method.md, device memory)",
                  Bytes(returned), Bytes(allowed_)));
}

Result<void> MemoryWatch::CheckAfterDeath() {
  if (device_ == nullptr) return {};
  TRY(device_->CheckAnswers());
  // What it held at its last reply is gone from free memory still, or it is back already.
  const int64_t enough = free_before_ + held_ - kSlack;
  const int64_t now = TRY(WaitForFree(enough));
  if (now < enough) return Leaked(enough - now);
  return {};
}

Result<void> CheckHealth(device::Device& device, std::optional<int64_t> free_bytes) {
  TRY(device.CheckAnswers());
  if (!free_bytes) return {};
  const int64_t now = TRY(WaitUntilFree(device, *free_bytes - kSlack));
  if (now < *free_bytes - kSlack) return Leaked(*free_bytes - now);
  return {};
}

}  // namespace roofmark::gate
