// SPDX-License-Identifier: Apache-2.0
// What a candidate's worker left in its scratch folder. A candidate may leave anything there:
// links out of it, pipes, millions of files; only plain files count, and only so many.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace roofmark::gate {

// Plain files below the folder whose names end in `extension` (".py"; empty = any), at most 4096,
// none of which is larger than 64 MiB. What cannot be read is left out.
std::vector<std::filesystem::path> ScratchFiles(const std::filesystem::path& folder,
                                                std::string_view extension);

}  // namespace roofmark::gate
