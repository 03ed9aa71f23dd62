// SPDX-License-Identifier: Apache-2.0
// What `mine` prints beside its table.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cli/args.h"
#include "trace/trace.h"

namespace roofmark::cli {

// mine --explain TEXT: why the kernels whose names hold the text are claimed as they are.
// Errors: of a profile that does not read; kNotFound where no kernel has such a name.
Result<int> ExplainKernels(const MineArgs& args);

// mine --check: what each profile lacks and how to record it. 1 where one cannot be mined at all.
Result<int> CheckProfiles(const MineArgs& args);

// mine --unknown: largest first (the order given), and as rules that a person only has to finish.
void PrintUnknown(const std::vector<trace::UnknownKernel>& unknown, int64_t busy_ns, Format format);

}  // namespace roofmark::cli
