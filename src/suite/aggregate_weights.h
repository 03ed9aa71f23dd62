// SPDX-License-Identifier: Apache-2.0
// From a fleet's aggregate to weights: which share of the fleet's GPU time each cell has. This is
// the first place where anything is divided.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/aggregate.h"

namespace roofmark::suite {

// A share of exposed GPU time with its interval.
struct Share {
  double value = 0;
  double low = 0;
  double high = 0;
};

// A cell of the fleet: all profiles' cells of one operator, shape, element types and phase.
struct FleetCell {
  AggregateCell sums;                         // plain sums over profiles, times not weighted
  Share share;                                // of the fleet's GPU time
  std::map<size_t, double> parts;             // by sampling unit; they add up to share.value
  std::map<std::string, double> deployed_ns;  // mean time of a call, by device
  std::vector<std::string> profiles;          // hashes of those that hold it
};

struct FleetWeights {
  std::vector<FleetCell> cells;  // largest share first
  size_t profiles = 0;           // with any kernel
  std::vector<double> units;     // weights of the sampling units (see below); they add up to 1
  double card_hours = 0;         // that were stated; 0 where none were
  double total = 0;              // of all shares: 1, or 0 where there is no time at all
};

// Sampling units: each profile that states its card time, and each application whose profiles do
// not, these pooled by the ratio of their sums. Profiles without an application stand for
// themselves. The share of a cell in a unit is its exposed time over the unit's busy time; units
// are weighted by card time, and those that state none count as the mean of those that do (all
// equal where none does). Intervals: delete-one jackknife over units, two-sided 95 % with Student's
// t; [0, 1] cuts them. With one unit there is no interval, and low = high = value. Source: Efron
// and Stein, "The jackknife estimate of variance", Annals of Statistics 9 (1981).
FleetWeights WeighAggregate(const Aggregate& aggregate);

// The share of several cells together, from the sum of their parts.
Share ShareOfParts(const std::map<size_t, double>& parts, const std::vector<double>& units);

// The t quantile for a two-sided 95 % interval; 1.96 for many degrees of freedom.
// Source: NIST/SEMATECH e-Handbook of Statistical Methods, section 1.3.6.7.2.
double StudentT95(size_t degrees_of_freedom);

}  // namespace roofmark::suite
