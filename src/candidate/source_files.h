// SPDX-License-Identifier: Apache-2.0
// What a native candidate may hand to the judge's compilers: text that they compile, and headers.
// Compilers take far more than that by its name alone: objects, archives, libraries, cubins,
// linker scripts, precompiled headers. What was made elsewhere has no source here, and would count
// as the candidate's own.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "model/candidate.h"

namespace roofmark::candidate {

enum class SourceKind { kHost, kDevice, kHeader, kOther };

// By the end of the file's name: .c .cc .cpp .cxx are for the host, .cu for the device.
SourceKind KindOfSource(const std::filesystem::path& path);

// Requires: candidate.lane is native. Errors: kInput naming a file among its sources, or in its
// include folders, that is no source text of the lane, and what is.
Result<void> CheckSources(const Candidate& candidate);

}  // namespace roofmark::candidate
