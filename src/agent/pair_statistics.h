// SPDX-License-Identifier: Apache-2.0
// When a revision counts as faster. Both kernels were timed in the same rounds on the same inputs,
// in random order, so their samples are pairs and a drift of the machine hits both. Times are
// skewed and have outliers; the test uses only which of a pair is faster, and assumes no
// distribution: under the null hypothesis each pair is at most a fair coin toss for the revision.
#pragma once

#include <cstdint>
#include <span>

#include "base/json.h"
#include "base/stats.h"

namespace roofmark::agent {

struct PairStats {
  int64_t wins = 0;    // pairs in which the challenger is faster by more than the least effect
  int64_t losses = 0;  // the others; exact ties count for neither
  double p = 1;        // two-sided sign test; 1 unless the wins are the majority
  Interval ratio;      // challenger's time / incumbent's, median and 95 % interval

  int64_t pairs() const { return wins + losses; }
  bool operator==(const PairStats&) const = default;
};

// Pairs in order; the longer list is cut. `least_effect` is a fraction: 0.01 asks for 1 % less
// time, so the null hypothesis is "the median ratio is at least 0.99", and what is rejected is
// that, not mere equality. Without pairs: no wins, p = 1, ratio 0.
// Requires: 0 <= least_effect < 1; times > 0.
PairStats ComparePairs(std::span<const double> incumbent, std::span<const double> challenger,
                       double least_effect);

// How far the two halves of an A/A comparison (a kernel against itself) are from being equal: the
// largest distance of the ratio's interval from 1.
double NoiseFloor(const PairStats& same);

// What the k-th test (from 1) may spend of the error rate of a campaign: error_rate * 6/(pi^2 k^2).
// The shares add up to the error rate over any number of tests, so by the union bound the
// probability of even one wrong promotion stays under it, and nobody has to know beforehand how
// many revisions there will be.
double ErrorShare(double error_rate, int64_t test);

Json PairStatsToJson(const PairStats& stats);
Result<PairStats> PairStatsFromJson(const Json& json);

}  // namespace roofmark::agent
