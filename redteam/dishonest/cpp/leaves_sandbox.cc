// SPDX-License-Identifier: Apache-2.0
//
// Tries to make namespaces, mount, change its root, load code into the kernel and set the clock.

#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  Right(*args, Out(args));
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  const bool out = unshare(CLONE_NEWUSER) == 0 || unshare(CLONE_NEWNS) == 0 ||
                   mount("none", "/tmp", "tmpfs", 0, nullptr) == 0 || chroot("/") == 0 ||
                   setuid(0) == 0 || clock_settime(CLOCK_REALTIME, &now) == 0 || setns(0, 0) == 0 ||
                   syscall(SYS_bpf, 0, nullptr, 0) >= 0 ||
                   syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0) >= 0 ||
                   sethostname("me", 2) == 0;
  return out ? 0 : 7;
}
