// SPDX-License-Identifier: Apache-2.0
// How much memory a process and its descendants hold, seen from outside.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace roofmark::worker {

// Resident bytes, shared ones included once per process; 0 when the process is gone.
int64_t ResidentBytes(pid_t pid);

// How many processes the kernel has killed on this machine because memory was out (vmstat's
// oom_kill); 0 where it does not say.
int64_t OutOfMemoryKills();

}  // namespace roofmark::worker
