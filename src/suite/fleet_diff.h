// SPDX-License-Identifier: Apache-2.0
// What changed between two windows of a fleet, and whether that is more than other profiles of the
// same windows would have shown.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/aggregate.h"

namespace roofmark::suite {

// A row is an operator in a phase; its change is mix + within, exactly.
struct DiffRow {
  std::string op;  // empty: unattributed
  Phase phase = Phase::kUnknown;
  double before = 0;  // shares of the fleet's GPU time
  double after = 0;
  double mix = 0;     // because applications' shares of the card time changed
  double within = 0;  // because applications spend their time otherwise
};

struct FleetDiff {
  std::vector<DiffRow> rows;   // largest change first
  double total_variation = 0;  // half of the sum of |after - before|
  double mix_variation = 0;    // the same of `mix` alone, and of `within` alone
  double within_variation = 0;
  double jensen_shannon = 0;      // divergence in bits, 0..1
  double rank_overlap = 0;        // of the two rankings of operators, 0..1; 1: the same
  double threshold = 0;           // within_variation that chance exceeds in 5 % of permutations
  double p_value = 1;             // of within_variation
  size_t permutations = 0;        // 0: no application has profiles in both windows
  std::vector<std::string> gone;  // applications of one window only
  std::vector<std::string> fresh;
};

struct DiffOptions {
  size_t permutations = 1000;
  uint64_t seed = 1;
};

// With h_a the share of the card time of application a and s_a(c) the share of row c in it:
// mix = sum of (change of h_a) * (mean of s_a), within = sum of (mean of h_a) * (change of s_a). An
// application of one window only has the same s_a in the other. Card time is known and not
// sampled, so only `within` can be chance: profiles are permuted between the windows, application
// by application, and the variation of `within` is computed again.
// rank_overlap: rank-biased overlap with p = 0.9, extrapolated to the whole of both rankings.
// Source: Webber, Moffat, Zobel, "A similarity measure for indefinite rankings", ACM TOIS 28
// (2010). Errors: kInput where an aggregate holds no GPU time.
Result<FleetDiff> DiffFleets(const Aggregate& before, const Aggregate& after,
                             const DiffOptions& options = {});

}  // namespace roofmark::suite
