// SPDX-License-Identifier: Apache-2.0
// How far the shares of a fleet's rows (operators, workloads) would move if it were sampled again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "suite/aggregate_weights.h"

namespace roofmark::suite {

struct BootstrapOptions {
  size_t draws = 1000;
  uint64_t seed = 1;  // the same seed gives the same intervals
  // Draw applications anew (what another fleet of this kind would show), or keep those that are
  // there (what other profiles of this fleet would show).
  bool applications = true;
};

struct BootstrapRow {
  double error = 0;     // standard deviation of the draws
  size_t rank_low = 0;  // central 95 % of its ranks; the largest share has rank 1
  size_t rank_high = 0;
  double keeps_rank = 0;  // share of the draws in which its rank is that of the estimate
};

// Two-stage cluster bootstrap over the aggregate: of A applications A - 1 with replacement, then of
// the n profiles of each group n - 1, so that few units do not look surer than they are; each draw
// is the ratio of sums of WeighAggregate. Ranks of one run are near copies, so a group of n
// profiles with r ranks a run counts as ceil(n / r) of them. row_of_cell[i] is the row of
// weights.cells[i], or SIZE_MAX. Requires: rows less than 2^32. Percentiles of so few units are too
// narrow whatever is drawn, so the draws give a standard error, and LogOddsInterval the interval.
// Source: Davison and Hinkley, Bootstrap Methods and their Application (1997), section 3.8; Rao and
// Wu, "Resampling inference with complex survey data", JASA 83 (1988), for one draw less.
std::vector<BootstrapRow> BootstrapShares(const FleetWeights& weights,
                                          std::span<const size_t> row_of_cell, size_t rows,
                                          const BootstrapOptions& options = {});

}  // namespace roofmark::suite
