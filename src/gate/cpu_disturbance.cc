// SPDX-License-Identifier: Apache-2.0
#include "gate/cpu_disturbance.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "base/text.h"

namespace roofmark::gate {
namespace {

// A competing thread writes this much again and again: more than a core's own caches hold.
constexpr size_t kLoadBytes = size_t{4} << 20;
// The load yields most of a shared core to the candidate, so that no honest call runs into its
// limit.
constexpr int kLoadNice = 5;

std::vector<pid_t> ThreadsOf(pid_t process) {
  std::vector<pid_t> threads;
  std::error_code error;
  const std::filesystem::path folder = fmt::format("/proc/{}/task", process);
  for (auto it = std::filesystem::directory_iterator(folder, error);
       !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    if (const auto id = ParseInt(it->path().filename().string())) {
      threads.push_back(static_cast<pid_t>(*id));
    }
  }
  return threads;
}

std::optional<cpu_set_t> CoresOf(pid_t thread) {
  cpu_set_t cores;
  if (::sched_getaffinity(thread, sizeof cores, &cores) != 0) return std::nullopt;
  return cores;
}

// At least half of `cores`, so that threads that wait for each other by spinning still meet.
cpu_set_t SomeOf(const cpu_set_t& cores, Random* random) {
  std::vector<int> all;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores)) all.push_back(core);
  }
  const size_t least = (all.size() + 1) / 2;
  const size_t keep = least + random->Below(all.size() - least + 1);
  cpu_set_t some;
  CPU_ZERO(&some);
  for (size_t i = 0; i < keep; ++i) {
    std::swap(all[i], all[i + random->Below(all.size() - i)]);
    CPU_SET(all[i], &some);
  }
  return some;
}

void Compete(const std::stop_token& stop) {
  // Of this thread alone: on Linux the number names a thread.
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kLoadNice);
  std::vector<uint64_t> memory(kLoadBytes / sizeof(uint64_t));
  for (uint64_t pass = 1; !stop.stop_requested(); ++pass) {
    for (size_t i = 0; i < memory.size() && !stop.stop_requested(); i += 8) memory[i] += pass;
  }
}

class CpuDisturbance final : public Disturbance {
 public:
  CpuDisturbance(pid_t worker, uint64_t seed) : worker_(worker), first_(CoresOf(worker)) {
    Random random(seed);
    const auto cores = static_cast<size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    const size_t load = 1 + random.Below(cores);
    for (size_t i = 0; i < load; ++i) load_.emplace_back(Compete);
    for (const pid_t thread : ThreadsOf(worker)) {
      const std::optional<cpu_set_t> before = CoresOf(thread);
      if (!before) continue;
      cores_[thread] = *before;
      const cpu_set_t some = SomeOf(*before, &random);
      ::sched_setaffinity(thread, sizeof some, &some);
    }
  }

  // Threads that were born meanwhile inherited the few cores; they get what the first thread had.
  ~CpuDisturbance() override {
    for (const pid_t thread : ThreadsOf(worker_)) {
      const auto known = cores_.find(thread);
      if (known == cores_.end() && !first_) continue;
      const cpu_set_t before = known == cores_.end() ? *first_ : known->second;
      ::sched_setaffinity(thread, sizeof before, &before);
    }
  }

 private:
  pid_t worker_;
  std::optional<cpu_set_t> first_;
  std::map<pid_t, cpu_set_t> cores_;
  std::vector<std::jthread> load_;
};

}  // namespace

std::unique_ptr<Disturbance> DisturbCpu(pid_t worker, uint64_t seed) {
  return std::make_unique<CpuDisturbance>(worker, seed);
}

}  // namespace roofmark::gate
