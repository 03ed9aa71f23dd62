// SPDX-License-Identifier: Apache-2.0
// From the flags that several verbs share to workloads.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/args.h"
#include "suite/suite.h"

namespace roofmark::cli {

// Loads the operators and the selected workloads; weights come from --suite where given. `tier` is
// the verb's default ("published", "corrected", "small", "mined" or "all"; several by commas).
Result<suite::Suite> LoadSelection(const Selection& selection, const std::string& default_tier);

}  // namespace roofmark::cli
