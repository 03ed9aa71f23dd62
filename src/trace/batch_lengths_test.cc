// SPDX-License-Identifier: Apache-2.0
#include "trace/batch_lengths.h"

#include <algorithm>

#include "base/hash.h"
#include "base/testing.h"

namespace roofmark::trace {
namespace {

StepPart PartOf(const std::vector<int64_t>& q, const std::vector<int64_t>& kv) {
  StepPart part{static_cast<int64_t>(q.size()), 0, 0, 0, 0};
  for (size_t i = 0; i < q.size(); ++i) {
    part.tokens += q[i];
    part.keys += kv[i];
    part.tokens_squared += q[i] * q[i];
    part.tokens_keys += q[i] * kv[i];
  }
  return part;
}

TEST(BatchLengths, AreExactWhereTheLabelDeterminesThem) {
  const StepLabel one{Phase::kPrefill, PartOf({888}, {1000}), {}};
  EXPECT_EQ(RebuildLengths(one, -1, -1), (BatchLengths{{888}, {1000}}));
  const StepLabel two{Phase::kPrefill, PartOf({700, 100}, {900, 100}), {}};
  EXPECT_EQ(RebuildLengths(two, -1, -1), (BatchLengths{{700, 100}, {900, 100}}));
  const StepLabel three{Phase::kPrefill, PartOf({900, 500, 100}, {900, 500, 100}), {}};
  EXPECT_EQ(RebuildLengths(three, 900, 900), (BatchLengths{{900, 500, 100}, {900, 500, 100}}));
  const StepLabel equal{Phase::kPrefill, PartOf({64, 64, 64}, {64, 64, 64}), {}};
  EXPECT_EQ(RebuildLengths(equal, 64, 64), (BatchLengths{{64, 64, 64}, {64, 64, 64}}));
}

TEST(BatchLengths, SplitDecodeContextsEvenlyBesideTheLongest) {
  const StepLabel label{Phase::kDecode, {}, StepPart{4, 4, 1003, 4, 1003}};
  EXPECT_EQ(RebuildLengths(label, 1, -1), (BatchLengths{{1, 1, 1, 1}, {251, 251, 251, 250}}));
  EXPECT_EQ(RebuildLengths(label, 1, 700), (BatchLengths{{1, 1, 1, 1}, {700, 101, 101, 101}}));
}

TEST(BatchLengths, KeepTheSumsOfRandomBatches) {
  Random random(9);
  for (int round = 0; round < 500; ++round) {
    std::vector<int64_t> q;
    std::vector<int64_t> kv;
    const uint64_t count = 1 + random.Below(20);
    for (uint64_t i = 0; i < count; ++i) {
      q.push_back(1 + static_cast<int64_t>(random.Below(2000)));
      kv.push_back(q.back() + static_cast<int64_t>(random.Below(3000)));
    }
    const StepPart part = PartOf(q, kv);
    const auto lengths = RebuildLengths({Phase::kPrefill, part, {}}, std::ranges::max(q), -1);
    ASSERT_TRUE(lengths.has_value());
    const StepPart rebuilt = PartOf(lengths->q_lens, lengths->kv_lens);
    EXPECT_EQ(rebuilt.sequences, part.sequences);
    EXPECT_EQ(rebuilt.tokens, part.tokens);
    EXPECT_EQ(rebuilt.keys, part.keys);
    EXPECT_NEAR(static_cast<double>(rebuilt.tokens_keys) / static_cast<double>(part.tokens_keys), 1,
                0.1);
    for (size_t i = 0; i < lengths->q_lens.size(); ++i) {
      EXPECT_GE(lengths->q_lens[i], 1);
      EXPECT_GE(lengths->kv_lens[i], lengths->q_lens[i]);
    }
  }
}

TEST(BatchLengths, AreUnknownWhereTheLabelSaysTooLittleOrNonsense) {
  EXPECT_EQ(RebuildLengths({Phase::kPrefill, {2, 300}, {}}, -1, -1), std::nullopt);
  EXPECT_EQ(RebuildLengths({Phase::kPrefill, {5, 3, 3, 3, 3}, {}}, -1, -1), std::nullopt);
  EXPECT_EQ(RebuildLengths({Phase::kDecode, {}, {4, 4, 2, 4, 2}}, -1, -1), std::nullopt);
  EXPECT_EQ(RebuildLengths({Phase::kDecode, {}, {int64_t{1} << 40, 1, 1, 1, 1}}, -1, -1),
            std::nullopt);
}

}  // namespace
}  // namespace roofmark::trace
