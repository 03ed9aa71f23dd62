// SPDX-License-Identifier: Apache-2.0
// Builds the file tree of a sandbox and makes it the root, inside new mount and pid namespaces,
// before anything untrusted runs; and what copying for a sandbox has in common with and without
// mounts.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "worker/sandbox_spec.h"

namespace roofmark::worker {

// How a folder is copied for a sandbox: its contents, links excepted.
inline constexpr auto kCopyContents =
    std::filesystem::copy_options::recursive | std::filesystem::copy_options::skip_symlinks;
// Makes everything below a folder of ours readable by everybody, links excepted. Errors: kIo.
Result<void> LetEverybodyRead(const std::filesystem::path& folder);

// Requires: this process is alone in new mount and pid namespaces and may mount. Afterwards nothing
// of the old tree is reachable. Errors: kIo naming the step.
Result<void> EnterTree(const std::vector<TreeEntry>& tree);

}  // namespace roofmark::worker
