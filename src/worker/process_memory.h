// SPDX-License-Identifier: Apache-2.0
// How much memory a process and its descendants hold, seen from outside, and what lies in it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace roofmark::worker {

// Resident bytes, shared ones included once per process; 0 when the process is gone.
int64_t ResidentBytes(pid_t pid);

// Bytes of memory that processes share and no file holds, each piece once: it is there as long as
// somebody maps it, and resident in none of them where they let its pages go (MADV_DONTNEED).
int64_t SharedBytes(pid_t pid);

// What a process holds that is its own, to see it grow: private data and stack, mapped or resident,
// and what it shares without a file on a disk (anonymous, memfd, temporary file systems), as far as
// it is mapped or resident, whichever is more. Nothing where the machine does not tell.
std::optional<int64_t> HeldBytes(pid_t pid);

// Whether this machine lets us read that process's memory: its user and Yama permitting.
bool MayReadMemory(pid_t pid);
// Copies what lies at `address` of a process. False where that is not all mapped and readable, or
// the process is gone; `to` holds anything then.
bool ReadMemory(pid_t pid, uint64_t address, std::span<std::byte> to);

// How many processes the kernel has killed on this machine because memory was out (vmstat's
// oom_kill); 0 where it does not say.
int64_t OutOfMemoryKills();

}  // namespace roofmark::worker
