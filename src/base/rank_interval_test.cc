// SPDX-License-Identifier: Apache-2.0
#include "base/rank_interval.h"

#include <cmath>
#include <vector>

#include "base/hash.h"
#include "base/testing.h"

namespace roofmark {
namespace {

// Ten differences of Hollander and Wolfe's kind; the interval is checked by hand: with n = 5 and a
// two-sided rate of 1/16, k = 1, so the ends are the extremes.
TEST(SignedRankInterval, GivesTheExtremesOfFiveSamplesAtTheRateOfOneInSixteen) {
  const std::vector<double> samples = {3, -1, 4, 2, 10};
  const auto interval = SignedRankInterval(samples, 1.0 / 16);
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->low, -1);
  EXPECT_EQ(interval->high, 10);
  // 15 means of two: -1 .5 1 1.5 2 2.5 3 3 3.5 4 4.5 6 6.5 7 10
  EXPECT_EQ(interval->median, 3);
}

// P(T <= 8) = 0.0244 and P(T <= 9) = 0.0322 for n = 10 (table A.4 of the source): k = 9.
TEST(SignedRankInterval, TakesTheNinthMeanOfTenSamplesAtFivePercent) {
  std::vector<double> samples;
  for (int i = 0; i < 10; ++i) samples.push_back(std::pow(4, i));
  const auto interval = SignedRankInterval(samples, 0.05);
  ASSERT_TRUE(interval);
  // Sorted means of powers of four: 1; 2.5 4; 8.5 10 16; 32.5 34 40 64; ...: the ninth is 40.
  EXPECT_EQ(interval->low, 40);
}

TEST(SignedRankInterval, RefusesTooFewSamples) {
  for (const double rate : {0.05, 0.01, 1e-3, 1e-5}) {
    const size_t least = LeastSignedRankSamples(rate);
    EXPECT_TRUE(SignedRankInterval(std::vector<double>(least, 1.0), rate)) << rate;
    EXPECT_FALSE(SignedRankInterval(std::vector<double>(least - 1, 1.0), rate)) << rate;
  }
  EXPECT_FALSE(SignedRankInterval({}, 0.05));
}

TEST(SignedRankInterval, MovesWithItsSamplesAndMirrorsWithTheirSign) {
  Random random(3);
  std::vector<double> samples;
  std::vector<double> mirrored;
  for (int i = 0; i < 20; ++i) {
    samples.push_back(static_cast<double>(random.Below(1000)));
    mirrored.push_back(-samples.back());
  }
  const Interval right = *SignedRankInterval(samples, 0.01);
  const Interval left = *SignedRankInterval(mirrored, 0.01);
  EXPECT_DOUBLE_EQ(right.low, -left.high);
  EXPECT_DOUBLE_EQ(right.high, -left.low);
  EXPECT_DOUBLE_EQ(right.median, -left.median);
}

TEST(SignedRankInterval, DoesNotMindOneWildSample) {
  std::vector<double> samples(20, 0.0);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = 0.001 * static_cast<double>(i);
  const Interval before = *SignedRankInterval(samples, 0.01);
  samples[19] = 1e6;
  const Interval after = *SignedRankInterval(samples, 0.01);
  EXPECT_NEAR(after.median, before.median, 0.002);
  EXPECT_LT(after.high, 0.1);
}

}  // namespace
}  // namespace roofmark
