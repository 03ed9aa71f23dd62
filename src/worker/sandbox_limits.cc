// SPDX-License-Identifier: Apache-2.0
#include "worker/sandbox_limits.h"

#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/owned.h"

namespace roofmark::worker {
namespace {

using Filter = Owned<void, seccomp_release>;

std::unexpected<Error> Refused(std::string_view what) {
  return Fail(ErrorKind::kIo, fmt::format("{}: {}", what, std::strerror(errno)));
}

Result<void> Limit(__rlimit_resource resource, uint64_t value, const char* name) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return Refused(name);
  const rlim_t wanted = std::min<rlim_t>(value, limit.rlim_max);
  limit = {.rlim_cur = wanted, .rlim_max = wanted};
  if (::setrlimit(resource, &limit) != 0) return Refused(name);
  return {};
}

// Other processes and their memory; the kernel's own state; mounts and namespaces; interfaces whose
// faults have been ways out of sandboxes.
constexpr std::array kDenied = {"ptrace",
                                "process_vm_readv",
                                "process_vm_writev",
                                "process_madvise",
                                "pidfd_getfd",
                                "kcmp",
                                "move_pages",
                                "migrate_pages",
                                "perf_event_open",
                                "bpf",
                                "userfaultfd",
                                "io_uring_setup",
                                "io_uring_enter",
                                "io_uring_register",
                                "keyctl",
                                "add_key",
                                "request_key",
                                "memfd_secret",
                                "open_by_handle_at",
                                "name_to_handle_at",
                                "fanotify_init",
                                "mount",
                                "umount2",
                                "pivot_root",
                                "chroot",
                                "mount_setattr",
                                "move_mount",
                                "open_tree",
                                "fsopen",
                                "fsconfig",
                                "fsmount",
                                "fspick",
                                "unshare",
                                "setns",
                                "kexec_load",
                                "kexec_file_load",
                                "init_module",
                                "finit_module",
                                "delete_module",
                                "reboot",
                                "swapon",
                                "swapoff",
                                "acct",
                                "quotactl",
                                "quotactl_fd",
                                "syslog",
                                "settimeofday",
                                "clock_settime",
                                "clock_adjtime",
                                "adjtimex",
                                "sethostname",
                                "setdomainname",
                                "iopl",
                                "ioperm",
                                "modify_ldt",
                                "vhangup",
                                "lookup_dcookie",
                                "nfsservctl",
                                "uselib",
                                "vmsplice",
                                "personality"};

// Memory that no limit on processes counts, and that nothing has to map: files in memory, segments
// and queues of System V. The CUDA driver makes such files; no kernel on a CPU needs any of it.
constexpr std::array kHiddenMemory = {"memfd_create", "shmget", "msgget"};

constexpr scmp_datum_t kNewNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                        CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

}  // namespace

Result<void> LimitResources(const SandboxSpec& spec) {
  TRY(Limit(RLIMIT_CORE, 0, "RLIMIT_CORE"));
  TRY(Limit(RLIMIT_NOFILE, 4096, "RLIMIT_NOFILE"));
  if (spec.data_bytes > 0) TRY(Limit(RLIMIT_DATA, spec.data_bytes, "RLIMIT_DATA"));
  if (spec.file_bytes > 0) TRY(Limit(RLIMIT_FSIZE, spec.file_bytes, "RLIMIT_FSIZE"));
  if (spec.processes > 0) TRY(Limit(RLIMIT_NPROC, spec.processes, "RLIMIT_NPROC"));
  return {};
}

Result<void> DropPrivileges(const SandboxSpec& spec) {
  // An ordinary user already is one, inside its user namespace or outside.
  if (::geteuid() == 0) {
    if (::setgroups(0, nullptr) != 0) return Refused("setgroups");
    if (::setresgid(spec.user, spec.user, spec.user) != 0) return Refused("setresgid");
    if (::setresuid(spec.user, spec.user, spec.user) != 0) return Refused("setresuid");
  }
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> none{};
  if (::syscall(SYS_capset, &header, none.data()) != 0) return Refused("capset");
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Refused("no_new_privs");
  // Changing the user made the process undumpable, and its own /proc/self unreadable to it.
  if (::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) return Refused("PR_SET_DUMPABLE");
  return {};
}

Result<void> FilterSystemCalls(const SandboxSpec& spec) {
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW));
  if (filter == nullptr) return Fail(ErrorKind::kIo, "seccomp_init failed");
  const auto add = [&](int code, std::string_view what) -> Result<void> {
    if (code == 0) return {};
    return Fail(ErrorKind::kIo, fmt::format("seccomp, {}: {}", what, std::strerror(-code)));
  };
  std::vector<const char*> denied(kDenied.begin(), kDenied.end());
  if (spec.device != "cuda")
    denied.insert(denied.end(), kHiddenMemory.begin(), kHiddenMemory.end());
  for (const char* const name : denied) {
    const int call = seccomp_syscall_resolve_name(name);
    if (call == __NR_SCMP_ERROR) continue;  // newer than this libseccomp, or not of this machine
    TRY(add(seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), call, 0), name));
  }
  for (scmp_datum_t bit = 1; bit <= kNewNamespaces; bit <<= 1) {
    if ((bit & kNewNamespaces) == 0) continue;
    TRY(add(seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit)),
            "clone"));
  }
  if (spec.isolation == Isolation::kNone) {
    TRY(add(seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EACCES), SCMP_SYS(socket), 1,
                             SCMP_A0(SCMP_CMP_NE, AF_UNIX)),
            "socket"));
  }
  // clone3 passes its flags in memory, where a filter cannot look; ENOSYS makes libc use clone.
  const int clone3 = seccomp_syscall_resolve_name("clone3");
  if (clone3 != __NR_SCMP_ERROR) {
    TRY(add(seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(ENOSYS), clone3, 0), "clone3"));
  }
  TRY(add(seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                           SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, TIOCSTI)),
          "ioctl"));
  // The judge lets a held candidate go on by SIGCONT, right after it has laid a call's inputs: no
  // code of the candidate is to run for that. Asking for the handler (no new one) is allowed.
  TRY(add(seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(rt_sigaction), 2,
                           SCMP_A0(SCMP_CMP_EQ, SIGCONT), SCMP_A1(SCMP_CMP_NE, 0)),
          "rt_sigaction"));
  return add(seccomp_load(filter.get()), "load");
}

}  // namespace roofmark::worker
