// SPDX-License-Identifier: Apache-2.0
// Whether the machine code of a process is still what its files hold, seen from outside. Whoever
// detours a function of the driver or of a profiler writes over its first bytes, and the page is
// the process's own from then on, even where the bytes are put back.
#pragma once

#include <sys/types.h>

#include <string>

namespace roofmark::worker {

// The path, as the process sees it, of a file whose mapped code was written to; empty where none
// was, or where this machine does not let us look. A candidate's own files (below /candidate,
// /scratch and /tmp) do not count: it may generate code. Takes some milliseconds for a process that
// has loaded PyTorch. Source of the format: proc_pid_pagemap(5), bits 61 to 63.
std::string ChangedCode(pid_t pid);

}  // namespace roofmark::worker
