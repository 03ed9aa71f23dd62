// SPDX-License-Identifier: Apache-2.0
// How results that others report are printed: always with who says so.
#pragma once

#include <string>

#include "suite/named_suite.h"

namespace roofmark::cli {

// "GPT-5.5: s_agg 0.107, compile_percent 100 (reported by ...)".
std::string ReportedLine(const suite::ReportedResult& result);

}  // namespace roofmark::cli
