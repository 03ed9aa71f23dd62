// SPDX-License-Identifier: Apache-2.0
// What a contestant's process holds of the device's memory, by the judge's own context: free memory
// before and after each thing that its worker is asked to do. Only one worker is asked at a time,
// and what the judge lends it is allocated in between, so the difference is the worker's own. That
// is an estimate (a thread of somebody else may allocate meanwhile), so it only raises a suspicion;
// what decides is how much comes back when the process ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "device/device.h"
#include "model/candidate.h"

namespace roofmark::gate {

// What a candidate may hold beyond what it was lent: a context, its modules, a framework's cache of
// its temporaries, a library's workspace. Ordinary ones are under 1 GiB; what was lent covers all
// slots, so four times that is dozens of copies of a call's operands. A baseline, of which nobody
// suspects anything, may hold half of what is free.
struct MemoryAllowance {
  static constexpr int64_t kFloor = int64_t{4} << 30;
  static constexpr int64_t kTimesLent = 4;
};
int64_t AllowanceFor(Role role, int64_t lent_bytes, int64_t free_bytes);

class MemoryWatch {
 public:
  // A new process, which holds nothing. `device` outlives the watch.
  void Start(device::Device& device);
  // It may hold this much from now on; a smaller allowance does not replace a larger one, since a
  // framework's cache keeps what an earlier workload needed.
  void Allow(int64_t bytes);

  // Around whatever the process is asked to do. Errors: kDevice.
  Result<void> Before();
  Result<void> After();

  int64_t held() const { return held_; }
  bool suspicious() const { return held_ > allowed_; }

  // Ends the process with `end` and waits, 5 s at most, for its memory. What came back decides: the
  // text says how much it held when that is over the allowance; without text it held no more than
  // that. Requires: Start.
  Result<std::optional<std::string>> Convict(const std::function<void()>& end);
  // After the process died: whether the device answers and what the process held came back.
  // Errors: kDevice where not; then nothing more may be judged on this device.
  Result<void> CheckAfterDeath();

 private:
  Result<int64_t> Free();
  // Free memory as soon as `enough` is reached, else what is free at the end of the wait.
  Result<int64_t> WaitForFree(int64_t enough);

  device::Device* device_ = nullptr;
  int64_t allowed_ = 0;
  int64_t held_ = 0;
  int64_t free_before_ = 0;
};

// Whether the device answers and has as much free memory as `free_bytes`, a reading from when none
// of our processes used it; nothing = not known. Waits 5 s at most. Errors: kDevice.
Result<void> CheckHealth(device::Device& device, std::optional<int64_t> free_bytes);

}  // namespace roofmark::gate
