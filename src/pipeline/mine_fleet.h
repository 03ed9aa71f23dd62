// SPDX-License-Identifier: Apache-2.0
// Many profiles to one aggregate, on all cores.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/aggregate.h"
#include "trace/trace.h"

namespace roofmark::pipeline {

// A profile as soon as it and all before it are mined; `done` of `total` are finished.
using SummarySink =
    std::function<void(const trace::ProfileSummary& summary, size_t done, size_t total)>;

struct MinedFleet {
  Aggregate aggregate;
  size_t profiles = 0;               // mined, capture profiles included
  size_t aggregates = 0;             // made elsewhere, folded in
  std::vector<std::string> skipped;  // files found by searching that are no profiles, and why
  std::vector<std::string> failed;   // the same of files that a person named; see OnFailure
};

// What to do about a file that a person named and that is no profile.
enum class OnFailure { kStop, kGoOn };

// Mines files, folders and manifests (see trace::FindProfiles). A file that is an aggregate itself
// is folded in. Capture profiles give shapes to others; they are shown and have no part in the
// aggregate. The order of `sink`'s calls and the result do not depend on the number of threads.
// Errors: of a profile that was named by a person; nothing is mined then.
Result<MinedFleet> MineFleet(const std::vector<std::filesystem::path>& paths,
                             const trace::Rules& rules, const SummarySink& sink);

// The same for profiles that were found already. kGoOn: no profile is an error.
Result<MinedFleet> MineInputs(const std::vector<trace::ProfileInput>& inputs,
                              const trace::Rules& rules, const SummarySink& sink,
                              OnFailure on_failure);

// Whether a file begins like an aggregate; profiles do not.
bool IsAggregate(const std::filesystem::path& path);

// Reads an aggregate that `mine` wrote; errors name the file.
Result<Aggregate> ReadAggregate(const std::filesystem::path& path);

}  // namespace roofmark::pipeline
