// SPDX-License-Identifier: Apache-2.0
#include "trace/phase_split.h"

#include <gtest/gtest.h>

namespace roofmark::trace {
namespace {

StepLabel Mixed() {
  return *ParseStepLabel(
      "execute_8192_context_9(sq8155sk8430sqsq7475785sqsk7671310)_"
      "generation_37(sq37sk34489sqsq37sqsk34489)");
}

TEST(PhaseSplit, SharesByTokensSequencesAndScores) {
  EXPECT_EQ(WeightsOf(Mixed(), WorkUnit::kTokens), (PhaseWeights{8155, 37}));
  EXPECT_EQ(WeightsOf(Mixed(), WorkUnit::kSequences), (PhaseWeights{9, 37}));
  EXPECT_EQ(WeightsOf(Mixed(), WorkUnit::kScores), (PhaseWeights{7671310 - 7475785 / 2, 34489}));
}

TEST(PhaseSplit, SharesNothingThatTheLabelDoesNotSay) {
  const StepLabel counts = *ParseStepLabel("execute_context_2(300)_generation_5(5)");
  EXPECT_EQ(WeightsOf(counts, WorkUnit::kTokens), (PhaseWeights{300, 5}));
  EXPECT_EQ(WeightsOf(counts, WorkUnit::kScores), std::nullopt);
  EXPECT_EQ(WeightsOf(*ParseStepLabel("step[MIXED bs=3 toks=90]"), WorkUnit::kTokens),
            std::nullopt);
  EXPECT_EQ(WeightsOf(*ParseStepLabel("step[DECODE bs=3]"), WorkUnit::kTokens), std::nullopt);
}

TEST(PhaseSplit, PartsAddUpForAnyTime) {
  for (const int64_t ns : {int64_t{0}, int64_t{1}, int64_t{999'999'937}, INT64_MAX}) {
    const int64_t there = PartOf(ns, 37, 8192);
    EXPECT_GE(there, 0);
    EXPECT_LE(there, ns);
    EXPECT_EQ(PartOf(ns, 8192, 8192), ns);
  }
  EXPECT_EQ(PartOf(8192, 37, 8192), 37);
}

}  // namespace
}  // namespace roofmark::trace
