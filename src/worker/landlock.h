// SPDX-License-Identifier: Apache-2.0
// Landlock: the kernel's way for a process to give up files, TCP, and signals to others, without
// any privilege. Inside namespaces it is a second wall; without them it is the only one around
// files.
#pragma once

#include "base/result.h"
#include "worker/sandbox_spec.h"

namespace roofmark::worker {

// From here on this process and its descendants read and run what the tree shows and write what it
// lends writable, nothing else; they neither bind nor connect TCP (Linux 6.7) nor signal or
// trace anybody outside (6.12). Requires: no_new_privs is set. The answer is how the level names
// it, or empty where the kernel has no Landlock. Errors: kIo when it has one and refuses.
Result<std::string> EnterLandlock(const SandboxSpec& spec);

}  // namespace roofmark::worker
