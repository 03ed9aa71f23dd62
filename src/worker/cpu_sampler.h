// SPDX-License-Identifier: Apache-2.0
// Who uses the processor in a worker, seen from outside: the kernel samples the instruction pointer
// of each of its threads on the task clock (perf_event_open), and the process's memory map says
// which shared object it lies in. The worker's own harness (the binary that spins at the doorbell)
// is not counted. The candidate can neither see nor stop this.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/candidate.h"
#include "model/verdict.h"

namespace roofmark::worker {

struct CpuProfile {
  Shares owner_ns{};                 // task time by owner, from the samples
  std::vector<std::string> objects;  // "owner  percent  object", largest first
  std::string level;                 // what was missing; empty = nothing
};

// Whether code lies in the very file that the judge built, by device and inode (own_files.h).
enum class OwnFile { kNo, kYes };

class CpuSampler {
 public:
  // Starts sampling the threads that the process has now. Never fails: a refusal of the kernel is
  // told in the profile's level, and all time is then unknown.
  static CpuSampler Start(pid_t pid);
  CpuSampler(CpuSampler&&) noexcept;
  ~CpuSampler();

  // `own_library` is the candidate's shared object as the worker sees it (Worker::loaded). Code of
  // a Python candidate runs in the interpreter and in PyTorch, which are framework.
  CpuProfile Stop(const std::string& own_library);
  // Takes in what was sampled since, and says how many samples there are outside of the harness:
  // when to stop. 0 for ever where nothing can be sampled.
  int64_t Count(const std::string& own_library);
  bool can_sample() const { return !threads_.empty(); }

 private:
  struct Thread;
  explicit CpuSampler(pid_t pid);
  void Gather(const std::string& own_library);

  pid_t pid_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::map<std::pair<std::string, OwnFile>, int64_t> by_object_;  // samples by path
  std::string refusal_;
};

// Shares of fewer samples say nothing: at 200, that of 95 % is known to 3 %.
inline constexpr int64_t kFewestSamples = 200;

// The owner of code in a mapped object: the candidate's own is told by its file alone, the others
// by the path as /proc/PID/maps shows it. What lies where the candidate can write, or in no file at
// all though its lane is compiled by the judge, is kPrebuilt, whatever its name. `harness` is the
// worker's own executable, whose time has no owner.
enum class Harness { kNo, kYes };
struct ObjectOwner {
  Owner owner = Owner::kUnknown;
  Harness harness = Harness::kNo;
};
ObjectOwner OwnerOfObject(const std::string& path, OwnFile own, const std::string& own_library,
                          const std::string& harness);

// What maps and profiles call code that lies in no file.
inline constexpr const char* kAnonymousCode = "anonymous code";

}  // namespace roofmark::worker
