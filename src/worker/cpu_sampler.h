// SPDX-License-Identifier: Apache-2.0
// Who uses the processor in a worker, seen from outside: the kernel samples the instruction pointer
// of each of its threads on the task clock (perf_event_open), and the process's memory map says
// which shared object it lies in. The worker's own harness (the binary that spins at the doorbell)
// is not counted. The candidate can neither see nor stop this.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "model/candidate.h"
#include "model/verdict.h"

namespace roofmark::worker {

struct CpuProfile {
  Shares owner_ns{};                 // task time by owner, from the samples
  std::vector<std::string> objects;  // "owner  percent  object", largest first
  std::string level;                 // what was missing; empty = nothing
};

class CpuSampler {
 public:
  // Starts sampling the threads that the process has now. Never fails: a refusal of the kernel is
  // told in the profile's level, and all time is then unknown.
  static CpuSampler Start(pid_t pid);
  CpuSampler(CpuSampler&&) noexcept;
  ~CpuSampler();

  // `own_library` is the candidate's shared object as the worker sees it. Code of a Python
  // candidate runs in the interpreter and in PyTorch, which are framework.
  CpuProfile Stop(const std::string& own_library);

 private:
  struct Thread;
  explicit CpuSampler(pid_t pid);

  pid_t pid_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::string refusal_;
};

// The owner of code in a shared object, by its path. Harness time has none.
enum class Harness { kNo, kYes };
struct ObjectOwner {
  Owner owner = Owner::kUnknown;
  Harness harness = Harness::kNo;
};
ObjectOwner OwnerOfObject(const std::string& path, const std::string& own_library);

}  // namespace roofmark::worker
