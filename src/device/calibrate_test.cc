// SPDX-License-Identifier: Apache-2.0
#include "device/calibrate.h"

#include "base/testing.h"
#include "device/cpu_rates.h"
#include "device/rates.h"

namespace roofmark::device {
namespace {

TEST(Rates, AreWorkOverTheMedianTime) {
  const std::vector<double> seconds = {0.5, 0.4, 0.6};
  const Rate rate = RateOf(10, seconds);
  EXPECT_DOUBLE_EQ(rate.per_s, 20);
  EXPECT_LT(rate.low, 20);
  EXPECT_GT(rate.high, 20);
  EXPECT_EQ(rate.samples, 3U);
}

TEST(Rates, OfferKeepsTheBetterOneWithItsSource) {
  Ceilings ceilings;
  const std::vector<double> second = {1};
  Offer(&ceilings.memory_bytes_per_s, &ceilings, "memory", RateOf(5, second), "read");
  Offer(&ceilings.memory_bytes_per_s, &ceilings, "memory", RateOf(4, second), "write");
  EXPECT_EQ(ceilings.memory_bytes_per_s, 5);
  EXPECT_THAT(ceilings.sources["memory"], testing::StartsWith("read"));
  EXPECT_TRUE(ceilings.present);
}

TEST(CpuRates, EveryWidthUpToTheWidestCountsItsLanes) {
  const VectorWidth widest = WidestVectors();
  EXPECT_DOUBLE_EQ(RunMultiplyAdds(VectorWidth::kSse2, 10), 10 * 12 * 4 * 2);
  EXPECT_DOUBLE_EQ(RunExponentials(VectorWidth::kSse2, 10), 10 * 8 * 4);
  if (widest != VectorWidth::kSse2) {
    EXPECT_DOUBLE_EQ(RunMultiplyAdds(VectorWidth::kAvx2, 10), 10 * 12 * 8 * 2);
    EXPECT_DOUBLE_EQ(RunExponentials(VectorWidth::kAvx2, 10), 10 * 8 * 8);
  }
  if (widest == VectorWidth::kAvx512) {
    EXPECT_DOUBLE_EQ(RunMultiplyAdds(VectorWidth::kAvx512, 10), 10 * 12 * 16 * 2);
  }
}

TEST(CpuRates, CopyingCopies) {
  alignas(64) float from[64];
  alignas(64) float to[64] = {};
  for (int i = 0; i < 64; ++i) from[i] = static_cast<float>(i);
  CopyMemory(from, to, sizeof from);
  EXPECT_EQ(to[0], 0);
  EXPECT_EQ(to[63], 63);
}

TEST(Calibrate, WithoutADriverSaysWhatIsMissing) {
  const auto found = CalibrateCuda();
  if (found) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_EQ(found.error().kind(), ErrorKind::kDevice);
}

}  // namespace
}  // namespace roofmark::device
