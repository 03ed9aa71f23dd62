// SPDX-License-Identifier: Apache-2.0
// What an aggregate amounts to, for the report.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "report/report.h"

namespace roofmark::cli {

// Errors: as pipeline::ReadAggregate.
Result<report::MinedTotals> MinedTotals(const std::filesystem::path& aggregate);

}  // namespace roofmark::cli
