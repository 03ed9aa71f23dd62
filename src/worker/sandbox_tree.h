// SPDX-License-Identifier: Apache-2.0
// Builds the file tree of a sandbox and makes it the root. Runs in the launcher, inside new mount
// and pid namespaces, before anything untrusted.
#pragma once

#include <vector>

#include "base/result.h"
#include "worker/sandbox_spec.h"

namespace roofmark::worker {

// Requires: this process is alone in new mount and pid namespaces and may mount. Afterwards nothing
// of the old tree is reachable. Errors: kIo naming the step.
Result<void> EnterTree(const std::vector<TreeEntry>& tree);

}  // namespace roofmark::worker
