// SPDX-License-Identifier: Apache-2.0
// What the GPU tests share: the device, children of this very program that play the candidate, and
// the injected library as such a child finds it.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/cuda_device.h"
#include "gate/cuda_timeline.h"

namespace roofmark::gpu {

// Skips openly where there is no GPU; with ROOFMARK_REQUIRE_GPU=1 that is a failure.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override;

  std::unique_ptr<device::CudaDevice> device_;
};

// A role that this program plays when it is started as `gpu_test ROLE ARGUMENTS...`.
using Role = Result<void> (*)(const std::vector<std::string>& arguments);
struct NamedRole {
  const char* name;
  Role role;
};
Result<void> PlayWriter(const std::vector<std::string>& arguments);  // FD BYTES r|rw|raise OFFSET
Result<void> PlayNative(const std::vector<std::string>& arguments);  // LIBRARY STAGE OUT MODE
Result<void> PlayClocks(const std::vector<std::string>& arguments);  // CUBIN STAGE OUT
Result<void> PlayStage(const std::vector<std::string>& arguments);   // CUBIN STAGE OUT FLUSH_BYTES

// Starts a role with a time limit and gives what it printed; errors hold its last words.
enum class Injection { kNone, kMeter };
Result<std::string> Start(std::vector<std::string> role_and_arguments, Injection injection,
                          double timeout_s = 60);
// The variables that load the meter into a child.
std::vector<std::string> MeterEnvironment();

// The injected library's C interface (meter/worker_api.h), found as workers find it.
struct WorkerSide {
  int (*stage_open)(const char*, uint64_t, uint64_t) = nullptr;
  int (*stage_begin)(void*, int, uint64_t) = nullptr;
  int (*stage_probe)(uint64_t, const uint64_t*, uint64_t) = nullptr;
  int (*stage_warm)(uint64_t, uint64_t) = nullptr;
  int (*stage_disturb)(int, uint64_t, uint64_t) = nullptr;
  const char* (*stage_findings)() = nullptr;
  int (*stage_before)() = nullptr;
  int (*stage_after)() = nullptr;
  int (*stage_end)() = nullptr;
  int (*stage_go)() = nullptr;
  int (*stage_times)(double*, int*) = nullptr;
  void (*meter_start)() = nullptr;
  void (*meter_discard)() = nullptr;
  const char* (*meter_drain)() = nullptr;
  const char* (*error)() = nullptr;

  Result<void> Check(int status) const;
};
Result<WorkerSide> OpenWorkerSide();

// One staged batch in this process.
enum class Metering { kOff, kOn };
struct Batch {
  std::vector<double> event_ns;
  double host_ns = 0;  // from go to done
  bool held = false;
  std::string testimony;
};
// `ahead` comes before the stage's part of a call: what is to be probed or warm.
Result<Batch> RunBatch(const WorkerSide& side, device::cu::Stream stream, int calls,
                       Metering metering, const std::function<void(int)>& call,
                       const std::function<Result<void>(int)>& ahead = nullptr);

// What a metered batch's testimony amounts to, and each call's device time in it.
Result<gate::Timeline> TimelineOf(const Batch& batch, const std::string& stage_hash, int calls);
std::vector<double> SpansOf(const gate::Timeline& timeline);

// The driver in a child, with the primary context current.
Result<device::CudaApi> OpenDriver();

}  // namespace roofmark::gpu
