// SPDX-License-Identifier: Apache-2.0
// A sandboxed process as the judge holds it: its socket, its exit, its output, and the leash with
// which it and everything it started are killed.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/owned.h"
#include "base/result.h"
#include "worker/cgroup.h"
#include "worker/channel.h"
#include "worker/log_tail.h"
#include "worker/sandbox_spec.h"

namespace roofmark::worker {

class Sandbox {
 public:
  // Starts the process with the strongest isolation that this machine permits (spec.isolation is
  // overwritten). Where none is, paths inside are replaced by those outside. Errors: kDevice.
  static Result<std::unique_ptr<Sandbox>> Start(SandboxSpec spec);
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  Channel& channel() { return channel_; }
  // The untrusted process, in the judge's pid namespace.
  pid_t pid() const { return pid_; }
  const std::string& level() const { return level_; }
  // A path inside, as the process must name it: unchanged, or, where there are no mounts, the path
  // outside of what would be mounted there.
  std::string InsidePath(std::string_view path) const;

  // The exit code (128 + signal) once the process and its descendants are gone.
  std::optional<int> Exited();
  std::optional<int> WaitForExit(Deadline deadline);
  // Kills everything inside and waits until it is gone.
  void Kill();
  // The end of what it printed; all of it once it has exited.
  std::string Log();

 private:
  Sandbox(Channel channel, pid_t launcher, Fd leash, Fd log, Cgroup cgroup)
      : cgroup_(std::move(cgroup)),
        channel_(std::move(channel)),
        launcher_(launcher),
        leash_(std::move(leash)),
        log_(std::move(log)) {}
  static Result<std::unique_ptr<Sandbox>> Spawn(const SandboxSpec& spec);
  static Result<std::unique_ptr<Sandbox>> StartUnmounted(SandboxSpec spec);
  // Waits for the report of the confined process.
  Result<void> AwaitReport();

  Cgroup cgroup_;  // first, so that it is removed last
  Channel channel_;
  pid_t launcher_ = 0;
  pid_t pid_ = 0;
  Fd leash_;
  LogTail log_;
  std::string level_;
  std::vector<TreeEntry> unmounted_;  // where there are no mounts
  std::optional<TempDir> staged_;     // there, what would only exist inside
  std::optional<int> exit_code_;
};

// What this machine permits at most, as the starts of this process have found out. Setting it makes
// later starts try nothing stronger.
Isolation BestIsolation();
void SetBestIsolation(Isolation isolation);

}  // namespace roofmark::worker
