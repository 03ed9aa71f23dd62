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

// Errors: kIo.
Result<void> WriteFiles(const std::vector<BundleFile>& files, const std::filesystem::path& folder);

// One rename; `from` lies beside `to`. Errors: kIo.
Result<void> PutInPlace(const std::filesystem::path& from, const std::filesystem::path& to);

// "2026-11-30T02:15:00Z".
std::string NowText();

}  // namespace roofmark::pipeline
