// SPDX-License-Identifier: Apache-2.0
// Shares and their intervals. A share lies between 0 and 1 and is skewed where it is small, so its
// interval is symmetric in the logarithm of its odds: it never leaves (0, 1), and a rare operator's
// reaches further up than down.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace roofmark::suite {

// A share of exposed GPU time with its interval.
struct Share {
  double value = 0;
  double low = 0;
  double high = 0;
};

// The two-sided 95 % interval of a share with a standard error: t of them in log-odds, by the delta
// method (error / (s (1 - s))). A point where the error is 0. Less than one degree counts as one.
// Source: Agresti, Categorical Data Analysis, 3rd ed. (2013), section 3.1.
Share LogOddsInterval(double value, double error, double degrees_of_freedom);

// Kish's effective number, (sum w)^2 / sum w^2; 0 of nothing.
double EffectiveNumber(double sum, double squares);

// What a share's error may count on: one less than the effective number of units, and no more than
// one more than the effective number of those that hold the row, since a row of few units is known
// from few.
double DegreesOfFreedom(const std::map<size_t, double>& parts, const std::vector<double>& units);

// The share of several cells together, from the sum of their parts by sampling unit. Interval:
// delete-one jackknife over units, 95 %, with DegreesOfFreedom. With one unit there is none, and
// low = high = value. Source: Efron and Stein, "The jackknife estimate of variance", Annals of
// Statistics 9 (1981).
Share ShareOfParts(const std::map<size_t, double>& parts, const std::vector<double>& units);

}  // namespace roofmark::suite
