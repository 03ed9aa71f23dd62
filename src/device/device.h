// SPDX-License-Identifier: Apache-2.0
// A device as the judge sees it: it makes arenas and compares outputs. Candidate code never runs
// behind this interface. CPU and CUDA implement it; FakeDevice in tests records.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "device/arena.h"
#include "model/candidate.h"
#include "model/operator.h"

namespace roofmark::device {

struct DeviceInfo {
  DeviceKind kind = DeviceKind::kCpu;
  std::string name;          // "NVIDIA H200", or the CPU's model name
  std::string uuid;          // GPU UUID; empty on a CPU
  std::string driver;        // "580.159.04 CUDA 13.0"; the kernel release on a CPU
  std::string arch;          // "sm_90"; "x86-64"
  int64_t cache_bytes = 0;   // last-level cache, as queried
  int64_t memory_bytes = 0;  // free for arenas
  int units = 0;             // multiprocessors, or cores
};

// What a comparison of one output found. Element indices are flat, row-major.
struct Comparison {
  int64_t elements = 0;
  int64_t wrong = 0;  // elements outside the tolerance
  int64_t first_wrong = -1;
  double got = 0;  // at first_wrong
  double want = 0;
  double max_ratio = 0;    // largest |got - want| / allowed
  double rel_l2 = 0;       // ||got - want|| / ||want||
  int64_t non_finite = 0;  // in got, where want is finite
  int64_t poisoned = 0;    // elements that are still poison, bit for bit
  bool within = false;     // wrong == 0 and rel_l2 within the tolerance
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  // Errors: kDevice when memory is out.
  virtual Result<std::unique_ptr<Arena>> MakeArena(ArenaLayout layout) = 0;
  // Compares output `place` (same index in both arenas). A NaN or infinity in `want` is an error of
  // the reference (kInput), never a verdict on the candidate. NaN in got is never equal.
  virtual Result<Comparison> Compare(Arena& got, Arena& want, size_t place,
                                     const Tolerance& tolerance) = 0;
  // Bytes of the device's memory that nobody holds now; nothing where the device has no memory of
  // its own (a CPU). Takes microseconds and waits for nothing.
  virtual Result<std::optional<int64_t>> FreeMemory() { return std::optional<int64_t>(); }
  // Whether the device still does what it is told, within a few seconds: after a candidate's fault
  // the next one may only be judged if it does. Errors: kDevice, with what to do.
  virtual Result<void> CheckAnswers() { return {}; }
};

// Errors: kDevice when this machine has no such device; the message says what is missing and how to
// get it (`roofmark doctor` shows the same).
Result<std::unique_ptr<Device>> OpenCpu();
Result<std::unique_ptr<Device>> OpenCuda();

}  // namespace roofmark::device
