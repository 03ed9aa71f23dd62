// SPDX-License-Identifier: Apache-2.0
#include "model/against.h"

#include "base/testing.h"

namespace roofmark {
namespace {

Interval Between(double low, double high) {
  return {.median = (low + high) / 2, .low = low, .high = high};
}

TEST(StandingOf, IsDecidedOnlyByAWholeInterval) {
  EXPECT_EQ(StandingOf(Between(0.90, 0.98), 0.01), Standing::kFaster);
  EXPECT_EQ(StandingOf(Between(1.02, 1.50), 0.01), Standing::kSlower);
  EXPECT_EQ(StandingOf(Between(0.991, 1.009), 0.01), Standing::kSame);
  EXPECT_EQ(StandingOf(Between(0.98, 1.00), 0.01), Standing::kUndecided);
  EXPECT_EQ(StandingOf(Between(0.90, 1.10), 0.01), Standing::kUndecided);
}

TEST(StandingOf, CallsADifferenceWithinTheMarginTheSameHoweverSureItIs) {
  EXPECT_EQ(StandingOf(Between(0.9949, 0.9951), 0.01), Standing::kSame);
}

TEST(NotSlower, WantsEvidenceAndNotMerelyDoubt) {
  Against against{.standing = Standing::kUndecided, .ratio = Between(0.95, 1.005), .margin = 0.01};
  EXPECT_TRUE(against.NotSlower());
  against.ratio = Between(0.95, 1.02);
  EXPECT_FALSE(against.NotSlower());
  EXPECT_FALSE(Against{}.NotSlower());
}

TEST(Against, ReadsBackWhatItWrites) {
  const Against against{.baseline = "b.cc",
                        .baseline_hash = "00ff",
                        .standing = Standing::kFaster,
                        .reason = "because",
                        .ratio = Between(0.5, 0.6),
                        .margin = 0.01,
                        .error_rate = 0.02,
                        .blocks = 3,
                        .block_logs = {-0.5, -0.25, -0.125}};
  const Json json = AgainstToJson(against);
  const auto back = AgainstFromJson(json);
  ASSERT_THAT(back, IsOk());
  EXPECT_EQ(AgainstToJson(*back).Dump(), json.Dump());
}

TEST(Against, RefusesAnUnknownComparison) {
  Json json = AgainstToJson({});
  json.Set("comparison", "better");
  EXPECT_FALSE(AgainstFromJson(json));
}

}  // namespace
}  // namespace roofmark
