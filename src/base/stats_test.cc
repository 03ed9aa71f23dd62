// SPDX-License-Identifier: Apache-2.0
#include "base/stats.h"

#include "base/hash.h"
#include "base/testing.h"

namespace roofmark {
namespace {

TEST(MedianInterval, BracketsTheMedianByOrderStatistics) {
  std::vector<double> samples;
  for (int i = 1; i <= 20; ++i) samples.push_back(i);
  const Interval interval = MedianInterval(samples);
  EXPECT_DOUBLE_EQ(interval.median, 10.5);
  // For n = 20 the 95 % interval runs from the 6th to the 15th sample (Conover, table A3).
  EXPECT_DOUBLE_EQ(interval.low, 6);
  EXPECT_DOUBLE_EQ(interval.high, 15);
}

TEST(MedianInterval, CoversTheTrueMedianAsOftenAsItClaims) {
  Random random(1);
  int covered = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> samples;
    for (int i = 0; i < 25; ++i) samples.push_back(static_cast<double>(random.Below(1000000)));
    const Interval interval = MedianInterval(samples);
    covered += interval.low <= 500000 && 500000 <= interval.high ? 1 : 0;
  }
  EXPECT_GE(covered, 1880);
}

TEST(MedianInterval, ReturnsTheRangeWhenSamplesAreTooFew) {
  const std::vector<double> samples = {3, 1, 2};
  EXPECT_EQ(MedianInterval(samples), (Interval{.median = 2, .low = 1, .high = 3}));
}

TEST(SignTest, MatchesTheBinomial) {
  EXPECT_NEAR(SignTestP(9, 1), 2 * 11.0 / 1024, 1e-12);
  EXPECT_DOUBLE_EQ(SignTestP(5, 5), 1);
  EXPECT_DOUBLE_EQ(SignTestP(0, 0), 1);
}

}  // namespace
}  // namespace roofmark
