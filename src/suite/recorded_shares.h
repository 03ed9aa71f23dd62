// SPDX-License-Identifier: Apache-2.0
// How far the shares of this fleet would move if the same applications were recorded again: what is
// asked where the fleet itself is meant, and not others of its kind.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "suite/aggregate_weights.h"

namespace roofmark::suite {

struct RecordedShares {
  std::vector<Share> rows;  // with intervals, 95 %
  double variance = 0;      // sum of the rows' variances
  double single = 0;        // share of the card time that rests on one run a group
};

// A group's share is a ratio of sums, so its variance is that of the residuals e_p - s busy_p of
// its profiles (linearisation); groups are independent. Of n profiles with r ranks a run there are
// ceil(n / r) runs, since ranks are near copies. Degrees of freedom: Satterthwaite's, and no more
// than the effective number of profiles that hold the row. A group with one run cannot tell its
// variance: in log-odds it is taken to have the mean one of the others. Nothing where every group
// has one run. row_of_cell[i] is the row of weights.cells[i], or SIZE_MAX.
// Sources: Saerndal, Swensson, Wretman, Model Assisted Survey Sampling (1992), section 5.6
// (ratios); Satterthwaite, "An approximate distribution of estimates of variance components",
// Biometrics Bulletin 2 (1946).
std::optional<RecordedShares> ShareOfRecordings(const FleetWeights& weights,
                                                std::span<const size_t> row_of_cell, size_t rows);

}  // namespace roofmark::suite
