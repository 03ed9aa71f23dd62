// SPDX-License-Identifier: Apache-2.0
// roofmark score --export: verdicts in the terms of other benchmarks.
#pragma once

#include "base/result.h"
#include "cli/args.h"
#include "store/store.h"

namespace roofmark::cli {

// Writes args.out, or stdout; what was left out goes to stderr. Returns the exit code.
Result<int> ExportScores(const ScoreArgs& args, const store::Store& store);

}  // namespace roofmark::cli
