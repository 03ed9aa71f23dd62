// SPDX-License-Identifier: Apache-2.0
// Resampling of raw timing samples, so that every figure that is built on them, however it combines
// them, has an interval. It covers the noise within a run; what differs between processes and days
// is not in the samples and not in the interval.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/stats.h"

namespace roofmark::score {

// `draws` medians of samples drawn with replacement, each draw as many as there are.
// Source: Efron, Tibshirani, An Introduction to the Bootstrap, chapter 6. Deterministic in seed.
// Requires: samples not empty.
std::vector<double> ResampledMedians(std::span<const double> samples, int64_t draws, uint64_t seed);

// `draws` values of a weight with median `value` and all of them within [low, high]: uniform on
// either side. All equal to `value` where the interval is empty.
std::vector<double> ResampledWeights(double value, double low, double high, int64_t draws,
                                     uint64_t seed);

// The figure at the point estimates and its central interval over the draws, widened where
// necessary so that it holds the point. `figure(-1)` is the point, figure(d) the value of draw d.
Interval IntervalOf(const std::function<double(int64_t)>& figure, int64_t draws, double confidence);

}  // namespace roofmark::score
