// SPDX-License-Identifier: Apache-2.0
// A device as the inside of a native worker sees it: it maps what the judge lends, says where
// tensors lie, and runs timed batches. The CPU and CUDA implement it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "model/candidate.h"

namespace roofmark::worker {

enum class Access { kRead, kReadWrite };

// An error becomes the reply {"ok": false, "outcome": "runtime_error", "reason": its message};
// where the message contains "out of memory", the outcome is out_of_memory.
class WorkerDevice {
 public:
  virtual ~WorkerDevice() = default;

  // DLPack's device type (1 = CPU, 2 = CUDA) and index, for the candidate's tensors.
  virtual int32_t device_type() const = 0;
  // The stream that run() gets: a CUstream, null on a CPU.
  virtual void* stream() const = 0;

  // Maps `bytes` of the arena behind `fd`, and keeps the mapping until Unmap. The descriptor stays
  // the caller's.
  virtual Result<void*> Map(int fd, Access access, int64_t bytes) = 0;
  virtual Result<void> Unmap(void* at, int64_t bytes) = 0;
  // Waits for everything that was queued, and reports a fault of the device (kInput: the
  // candidate's code failed; the message says how).
  virtual Result<void> Synchronise() = 0;
  // The timed batch: `calls` times call(i), with what the request asks for (flush_bytes, hold_ns,
  // skip) around each. The reply's members besides "ok". The CPU has none: it is timed by the bell.
  virtual Result<Json> Batch(const Json& request, size_t calls,
                             const std::function<Result<void>(size_t)>& call) = 0;
  // What a server needs to know about a call, in phases: "watch" makes it and says which functions
  // of CUDA it called ({"watched": {...}}), "capture" puts it into a graph ({"captured", "why"}),
  // "replay" launches that graph and waits. The CPU has none of them.
  virtual Result<Json> Fit(const Json& request, const std::function<Result<void>()>& call) = 0;
  // Versions for the hello reply, as an object.
  virtual Json Versions() = 0;
};

// Errors: kDevice when the device cannot be opened in this worker.
Result<std::unique_ptr<WorkerDevice>> OpenWorkerDevice(DeviceKind kind);
Result<std::unique_ptr<WorkerDevice>> OpenCpuWorkerDevice();

}  // namespace roofmark::worker
