// SPDX-License-Identifier: Apache-2.0
// Time whose operator is known and whose shape is not (replays without a capture, recordings
// without shapes): over which shapes it would be spread, and the worst that spreading could get
// wrong.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "suite/mined_workload.h"

namespace roofmark::suite {

struct Imputation {
  // What each of FleetWeights::cells would be given, by sampling unit; empty for most.
  std::vector<std::map<size_t, double>> parts;
  // Shares of the fleet without a shape, of operators that have a card.
  std::map<std::pair<std::string, Phase>, double> unknown;
  double total = 0;   // of `unknown`
  double spread = 0;  // of it, what `parts` add up to
};

// An operator's time without a shape, in proportion to its time with one in the same application
// and phase, whether the card admits that or not. Where an application has no shape of the operator
// in the phase, nothing is known to spread by, and the time stays without one.
Imputation ImputeShapes(const FleetWeights& weights, const Cards& cards);

}  // namespace roofmark::suite
