// SPDX-License-Identifier: Apache-2.0
// The statistics that timing and scores rest on. Timing samples are skewed and have outliers, so
// everything is by order statistics and resampling; no normality is assumed anywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace roofmark {

// A central value and its interval, in the unit of the samples. low <= median <= high.
struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;

  double RelativeWidth() const { return median == 0 ? 0 : (high - low) / median; }
  bool operator==(const Interval&) const = default;
};

// Requires: not empty.
double Median(std::span<const double> samples);
// Linear interpolation between order statistics, 0 <= q <= 1. Requires: not empty.
double Quantile(std::span<const double> samples, double q);

// Median with a distribution-free interval from binomial order statistics: it covers the true
// median with at least `confidence` for independent samples; with fewer than six samples at 0.95 no
// such interval exists, and the full range is returned.
// Source: Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2.
Interval MedianInterval(std::span<const double> samples, double confidence = 0.95);

// Two-sided exact sign test: the probability of a split at least this uneven among wins + losses
// fair coin tosses. 1 when both are 0.
double SignTestP(int64_t wins, int64_t losses);

}  // namespace roofmark
