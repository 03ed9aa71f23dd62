// SPDX-License-Identifier: Apache-2.0
// What a process gives up before it runs untrusted code: user, capabilities, resources and system
// calls. Each function is one way only.
#pragma once

#include <string>

#include "base/result.h"
#include "worker/sandbox_spec.h"

namespace roofmark::worker {

// The user and group "nobody" of Debian and Ubuntu; owns nothing.
inline constexpr unsigned kNobody = 65534;

// Resource limits of the spec, and no core files.
Result<void> LimitResources(const SandboxSpec& spec);
// Becomes nobody where this process may change its user and its files are lent by mounts, and drops
// every capability and the way
// back (no_new_privs).
Result<void> DropPrivileges(Isolation isolation);
// System calls that no kernel or compiler needs and that reach other processes, the kernel or the
// mount tree fail with EPERM from here on.
Result<void> FilterSystemCalls();

}  // namespace roofmark::worker
