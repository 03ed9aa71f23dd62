// SPDX-License-Identifier: Apache-2.0
#include "score/bootstrap.h"

#include <algorithm>
#include <cmath>

#include "base/testing.h"

namespace roofmark::score {
namespace {

TEST(Bootstrap, RepeatsExactlyForOneSeed) {
  const std::vector<double> samples = {5, 1, 4, 2, 3, 9, 7};
  EXPECT_EQ(ResampledMedians(samples, 50, 7), ResampledMedians(samples, 50, 7));
  EXPECT_NE(ResampledMedians(samples, 50, 7), ResampledMedians(samples, 50, 8));
}

TEST(Bootstrap, OfOneValueHasNoSpread) {
  const std::vector<double> one = {3};
  EXPECT_EQ(ResampledMedians(one, 3, 1), (std::vector<double>{3, 3, 3}));
}

// The asymptotic variance of a median is 1 / (4 n f(m)^2); uniform samples have density 1 / range.
TEST(Bootstrap, SpreadsLikeTheMedianOfUniformSamples) {
  std::vector<double> samples;
  for (int i = 0; i < 101; ++i) samples.push_back(i);
  const std::vector<double> medians = ResampledMedians(samples, 4000, 3);
  double sum = 0;
  double squares = 0;
  for (const double median : medians) {
    sum += median;
    squares += median * median;
  }
  const double mean = sum / 4000;
  EXPECT_NEAR(mean, 50, 0.5);
  EXPECT_NEAR(std::sqrt(squares / 4000 - mean * mean), 101 / (2 * std::sqrt(101.0)), 0.5);
}

TEST(Bootstrap, WeightsStayInTheirIntervalAroundTheirValue) {
  const std::vector<double> weights = ResampledWeights(0.2, 0.1, 0.5, 2001, 5);
  EXPECT_GE(*std::ranges::min_element(weights), 0.1);
  EXPECT_LE(*std::ranges::max_element(weights), 0.5);
  EXPECT_NEAR(Median(weights), 0.2, 0.02);
  EXPECT_EQ(ResampledWeights(0.2, 0.2, 0.2, 2, 5), (std::vector<double>{0.2, 0.2}));
}

TEST(IntervalOf, HoldsThePointEvenWhereTheDrawsMissIt) {
  const auto figure = [](int64_t draw) { return draw < 0 ? 10.0 : static_cast<double>(draw); };
  const Interval interval = IntervalOf(figure, 5, 0.5);
  EXPECT_EQ(interval, (Interval{.median = 10, .low = 1, .high = 10}));
}

}  // namespace
}  // namespace roofmark::score
