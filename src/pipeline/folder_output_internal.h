// SPDX-License-Identifier: Apache-2.0
// Folders that are written as a whole or not at all: bundles and releases.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/pack.h"

namespace roofmark::pipeline {

// Absolute, without a separator at its end.
std::filesystem::path TargetFolder(const std::filesystem::path& folder);

// Errors: kInput where the folder exists and is not empty.
Result<void> RequireFree(const std::filesystem::path& folder);

// Writes the files into a folder beside the target, so that the last step is one rename, and
// returns it; leaves nothing behind where it fails. Errors: kIo.
Result<std::filesystem::path> StageBeside(const std::filesystem::path& target,
                                          const std::vector<BundleFile>& files);

// One rename; `from` lies beside `to`. Errors: kIo.
Result<void> PutInPlace(const std::filesystem::path& from, const std::filesystem::path& to);

// "2026-11-30T02:15:00Z".
std::string NowText();

}  // namespace roofmark::pipeline
