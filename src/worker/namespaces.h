// SPDX-License-Identifier: Apache-2.0
// New namespaces for the process that calls; its next child is the first in the new pid namespace.
#pragma once

#include "base/result.h"
#include "worker/sandbox_spec.h"

namespace roofmark::worker {

// Requires: one thread. With kUserNamespace, root keeps every user and group id (so that it can
// read whatever it could before, and then become nobody); anybody else appears as nobody. Errors:
// kIo when the kernel or a container forbids it.
Result<void> EnterNamespaces(Isolation isolation);

// In a network namespace of this process's own: its loopback interface goes up. Errors: kIo.
Result<void> BringUpLoopback();

}  // namespace roofmark::worker
