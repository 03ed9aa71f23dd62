// SPDX-License-Identifier: Apache-2.0
// The first process inside a sandbox. It builds the file tree, starts the untrusted process as its
// child, reaps whatever that leaves behind, and ends with it; when it ends, the kernel kills the
// rest of its pid namespace.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "worker/channel.h"
#include "worker/sandbox_spec.h"

namespace roofmark::worker {

// Forks the init process and returns its pid. The child of init reports {"ok": true, "level": ..}
// on the channel once it is fully confined, just before it runs what the spec asks for; a step that
// fails is reported as {"ok": false, "reason": ..}.
Result<pid_t> StartInit(const SandboxSpec& spec, Channel& channel);

// 128 + signal, as shells say it.
int ExitCode(int wait_status);

}  // namespace roofmark::worker
