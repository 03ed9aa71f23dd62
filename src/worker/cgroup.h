// SPDX-License-Identifier: Apache-2.0
// A control group around one sandbox, where this machine lets us make one: it counts processes and
// memory over all of the sandbox's processes together, which no resource limit does.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/owned.h"
#include "worker/sandbox_spec.h"

namespace roofmark::worker {

class Cgroup {
 public:
  // Makes new groups below those that this process is in: version 2, or the pids and memory
  // hierarchies of version 1. Does what the machine permits and no more. Groups that a killed
  // judge left behind empty are removed.
  static Cgroup Make(const SandboxSpec& spec);
  Cgroup() = default;
  Cgroup(Cgroup&& other) noexcept;
  Cgroup& operator=(Cgroup&& other) noexcept;
  Cgroup(const Cgroup&) = delete;
  // Removes them. Everything inside has to be gone by then.
  ~Cgroup();

  // Moves the calling process, and so what it forks from now on, into the groups.
  // Async-signal-safe.
  void Enter() const;
  // How the level names it: "cgroup (pids, memory)"; empty without one.
  std::string Describe() const;

 private:
  struct Group {
    std::filesystem::path folder;
    Fd processes;                     // its cgroup.procs
    std::vector<std::string> limits;  // "pids", "memory"
  };
  std::vector<Group> groups_;
};

}  // namespace roofmark::worker
