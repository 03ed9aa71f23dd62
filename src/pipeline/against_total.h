// SPDX-License-Identifier: Apache-2.0
// The weighted total of a comparison. A workload's weight is its share of a fleet's time, so that
// sum(w * ratio) / sum(w) is the time that the fleet would spend with the candidate, over that with
// the baseline; ratios of long and of short workloads count alike, by weight.
#pragma once

#include <span>

#include "model/against.h"

namespace roofmark::pipeline {

struct WeighedComparison {
  double weight = 0;  // share of time; not negative
  const Against* against = nullptr;
};

// `error_rate` is the total's share of the run's. Workloads of weight 0 do not count, unless all
// have it: then all count alike. `none` with the reason where one that counts has no comparison,
// `undecided` with the reason where one is doubtful.
// The interval is that of the total's own blocks: the k-th is the total of every workload's k-th,
// linearised at the estimated ratios; of workloads with more blocks, consecutive ones are averaged.
// Requires: not empty.
Against TotalAgainst(std::span<const WeighedComparison> lines, double error_rate);

// Whether every workload that counts, in the same sense, is shown to be not slower.
bool NotSlowerAnywhere(std::span<const WeighedComparison> lines);

}  // namespace roofmark::pipeline
