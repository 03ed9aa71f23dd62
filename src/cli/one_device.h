// SPDX-License-Identifier: Apache-2.0
// Verbs that read a store speak of one device at a time.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "cli/args.h"

namespace roofmark::cli {

// The only one of `devices`, which are those of the verdicts that the store holds of `asked` (what
// --device says; empty where it was left open). Errors: kNotFound where there is none; kUsage, with
// the choice, where there are several.
Result<std::string> OnlyDevice(const fs::path& store, const std::string& asked,
                               const std::set<std::string>& devices);

}  // namespace roofmark::cli
