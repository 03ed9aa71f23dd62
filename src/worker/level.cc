// SPDX-License-Identifier: Apache-2.0
#include "worker/level.h"

namespace roofmark::worker {
namespace {

LevelPart Choose(const char* name, bool present, const char* means, const char* missing) {
  return {.name = name, .present = present, .means = present ? means : missing};
}

}  // namespace

// The words are those of LevelOf in init_process.cc, EnterLandlock and Cgroup::Describe.
std::vector<LevelPart> ExplainLevel(const std::string& level) {
  const auto says = [&](const char* words) { return level.find(words) != std::string::npos; };
  const bool landlock = says("Landlock") && !says("no Landlock");
  return {
      Choose("namespaces", !level.empty() && !says("no namespaces"),
             "a candidate sees its own files and processes alone, and no network",
             "a candidate sees other processes, and files that anybody may read; to get them: "
             "sysctl kernel.unprivileged_userns_clone=1 (Debian), "
             "kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), in a container --cap-add "
             "SYS_ADMIN with a seccomp profile that permits unshare"),
      Choose("seccomp", says("seccomp"),
             "system calls that no kernel needs are refused: sockets, tracing, mounts, signals to "
             "others",
             "any system call is open to a candidate; to get it: a kernel with "
             "CONFIG_SECCOMP_FILTER"),
      Choose("Landlock", landlock,
             "the kernel refuses files outside of what is shown, even without namespaces",
             "without namespaces nothing but file permissions protects files; to get it: Linux "
             "5.13 or newer with landlock in the lsm= list of its command line, and in a container "
             "a seccomp profile that permits it"),
      Choose("cgroup", says("cgroup ("),
             "processes and memory are counted over all of a candidate's processes together",
             "limits hold for each process of a candidate alone; to get it: a cgroup of your own, "
             "systemd-run --user --scope -p Delegate=yes roofmark ..., or in a container a "
             "writable /sys/fs/cgroup"),
  };
}

}  // namespace roofmark::worker
