// SPDX-License-Identifier: Apache-2.0
// What a fleet spends its GPU time on, as a table on stdout.
#pragma once

#include <string>

#include "model/aggregate.h"

namespace roofmark::cli {

void PrintFleet(const Aggregate& aggregate);

// Shares as percent: "[1.23, 4.56]".
std::string IntervalText(double low, double high);

}  // namespace roofmark::cli
