// SPDX-License-Identifier: Apache-2.0
// What a fleet spends its GPU time on, as a table on stdout.
#pragma once

#include <string>
#include <string_view>

#include "model/aggregate.h"

namespace roofmark::cli {

// What the two intervals of a table are, for below it.
inline constexpr std::string_view kIntervalsExplained =
    "(recorded again: were these applications recorded anew; fleets like it: were other "
    "applications "
    "of this kind seen)\n";

void PrintFleet(const Aggregate& aggregate);

// Shares as percent: "[1.23, 4.56]".
std::string IntervalText(double low, double high);

}  // namespace roofmark::cli
