// SPDX-License-Identifier: Apache-2.0
// What a process gives up before it runs untrusted code: user, capabilities, resources and system
// calls. Each function is one way only.
#pragma once

#include <string>

#include "base/result.h"
#include "worker/sandbox_spec.h"

namespace roofmark::worker {

// Resource limits of the spec, and no core files.
Result<void> LimitResources(const SandboxSpec& spec);
// Root becomes spec.user; everybody drops every capability and the way back (no_new_privs). Errors:
// kIo where root may not change its user: then nothing would hold what it runs.
Result<void> DropPrivileges(const SandboxSpec& spec);
// System calls that no kernel or compiler needs and that reach other processes, the kernel or the
// mount tree fail with EPERM from here on. Where no namespace keeps the network away, so do sockets
// other than local ones.
Result<void> FilterSystemCalls(const SandboxSpec& spec);

}  // namespace roofmark::worker
