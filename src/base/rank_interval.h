// SPDX-License-Identifier: Apache-2.0
// Where the centre of few noisy differences lies, without a model of their noise. The test behind
// it is Wilcoxon's signed-rank test: it asks only that each difference is as likely positive as
// negative and that the sign says nothing about the size. Paired measurements have that property by
// construction when a coin decides which of the two is measured first.
// Source: Hollander, Wolfe, Chicken, Nonparametric Statistical Methods, 3rd ed., sections 3.1-3.3.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/stats.h"

namespace roofmark {

// The Hodges-Lehmann estimate (median of all means of two, each with itself too) and the interval
// of all centres that the two-sided test at `error_rate` does not reject. Nothing where the samples
// are too few to reject anything at that rate. Requires: 0 < error_rate < 1.
std::optional<Interval> SignedRankInterval(std::span<const double> samples, double error_rate);

// The least number of samples for which that interval exists. Requires: 0 < error_rate < 1.
size_t LeastSignedRankSamples(double error_rate);

}  // namespace roofmark
