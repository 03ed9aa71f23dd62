// SPDX-License-Identifier: Apache-2.0
// How much memory a process and its descendants hold, seen from outside, and what lies in it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace roofmark::worker {

// Resident bytes, shared ones included once per process; 0 when the process is gone.
int64_t ResidentBytes(pid_t pid);

// Whether this machine lets us read that process's memory: its user and Yama permitting.
bool MayReadMemory(pid_t pid);
// Copies what lies at `address` of a process. False where that is not all mapped and readable, or
// the process is gone; `to` holds anything then.
bool ReadMemory(pid_t pid, uint64_t address, std::span<std::byte> to);

// How many processes the kernel has killed on this machine because memory was out (vmstat's
// oom_kill); 0 where it does not say.
int64_t OutOfMemoryKills();

}  // namespace roofmark::worker
