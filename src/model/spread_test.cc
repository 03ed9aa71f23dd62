// SPDX-License-Identifier: Apache-2.0
#include "model/spread.h"

#include "base/hash.h"
#include "base/testing.h"

namespace roofmark {
namespace {

TEST(Spread, PutsEveryValueIntoABucketNearIt) {
  Random random(11);
  int32_t last = -1;
  for (int64_t value = 0; value < 5000; ++value) {
    const int32_t bucket = BucketOf(value);
    EXPECT_TRUE(bucket == last || bucket == last + 1) << value;
    last = bucket;
  }
  for (int i = 0; i < 2000; ++i) {
    const auto value = static_cast<int64_t>(random.Next() >> (1 + random.Below(63)));
    const double middle = BucketMiddle(BucketOf(value));
    EXPECT_LE(std::abs(middle - static_cast<double>(value)), 0.008 * static_cast<double>(value))
        << value;
  }
}

TEST(Spread, KeepsExactMoments) {
  Spread spread;
  spread.Add(3);
  spread.Add(5, 2);
  EXPECT_EQ(spread.count(), 3);
  EXPECT_EQ(spread.sum(), 13);
  EXPECT_EQ(static_cast<int64_t>(spread.squares()), 9 + 50);
  EXPECT_EQ(spread.min(), 3);
  EXPECT_EQ(spread.max(), 5);
  EXPECT_DOUBLE_EQ(spread.Quantile(0), 3);
  EXPECT_DOUBLE_EQ(spread.Quantile(1), 5);
  EXPECT_DOUBLE_EQ(spread.Mean(), 13.0 / 3);
}

TEST(Spread, AddsUpInAnyOrderAndGrouping) {
  Random random(2);
  std::vector<int64_t> values;
  for (int i = 0; i < 300; ++i) {
    values.push_back(static_cast<int64_t>(random.Next() >> (1 + random.Below(63))));
  }
  Spread whole;
  for (const int64_t value : values) whole.Add(value);
  for (int round = 0; round < 20; ++round) {
    std::vector<Spread> parts(1 + random.Below(6));
    for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.Below(i)]);
    for (const int64_t value : values) parts[random.Below(parts.size())].Add(value);
    Spread merged;
    for (const Spread& part : parts) merged.Merge(part);
    EXPECT_EQ(merged, whole);
  }
}

TEST(Spread, SaturatesInsteadOfWrappingAround) {
  Spread spread;
  spread.Add(INT64_MAX, 3);
  EXPECT_EQ(spread.sum(), INT64_MAX);
  EXPECT_EQ(spread.count(), 3);
  Spread twice = spread;
  twice.Merge(spread);
  EXPECT_EQ(twice.sum(), INT64_MAX);
  EXPECT_THAT(Spread::FromJson(twice.ToJson()), IsOk());
}

TEST(Spread, ReadsBackWhatItWroteAndRefusesTheRest) {
  Spread spread;
  for (const int64_t value : {int64_t{0}, int64_t{127}, int64_t{128}, int64_t{1} << 40}) {
    spread.Add(value, 7);
  }
  const auto read = Spread::FromJson(Json::Parse(spread.ToJson().Dump()).value());
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(*read, spread);
  for (const char* text :
       {"7", "[1,2,\"4\",2,2]", "[1,2,\"x\",2,2,[[2,1]]]", "[1,2,\"\",2,2,[[2,1]]]",
        "[2,4,\"8\",2,2,[[2,1]]]", "[1,2,\"4\",3,2,[[2,1]]]", "[1,2,\"4\",2,2,[[99999,1]]]",
        "[-1,2,\"4\",2,2,[]]",
        "[1,2,\"999999999999999999999999999999999999999999\",2,2,[[2,1]]]"}) {
    EXPECT_FALSE(Spread::FromJson(Json::Parse(text).value()).has_value()) << text;
  }
}

}  // namespace
}  // namespace roofmark
