// SPDX-License-Identifier: Apache-2.0
// What a fleet spends its GPU time on, as a table on stdout.
#pragma once

#include "model/aggregate.h"

namespace roofmark::cli {

void PrintFleet(const Aggregate& aggregate);

}  // namespace roofmark::cli
