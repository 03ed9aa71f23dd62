// SPDX-License-Identifier: Apache-2.0
//
// Attaches to its parent and siblings with ptrace, and reads their memory.

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <string>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  Right(*args, Out(args));
  char bytes[64];
  iovec local = {bytes, sizeof bytes};
  for (const pid_t pid : {getppid(), 1, 2, 3}) {
    iovec remote = {reinterpret_cast<void*>(0x400000), sizeof bytes};
    if (ptrace(PTRACE_ATTACH, pid, nullptr, nullptr) == 0) return 0;
    if (process_vm_readv(pid, &local, 1, &remote, 1, 0) > 0) return 0;
    if (syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, pid, 0), 3, 0) >= 0) return 0;
    if (open(("/proc/" + std::to_string(pid) + "/mem").c_str(), O_RDWR) >= 0 && pid != getpid())
      return 0;
  }
  return 7;
}
