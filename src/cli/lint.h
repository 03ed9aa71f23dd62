// SPDX-License-Identifier: Apache-2.0
// roofmark suite lint: runs the admission programs of every workload of a suite.
#pragma once

#include "base/result.h"
#include "cli/args.h"

namespace roofmark::cli {

// Prints what was found; 1 when a workload is not admitted.
Result<int> LintSuite(const SuiteArgs& args);

}  // namespace roofmark::cli
