// SPDX-License-Identifier: Apache-2.0
#include "gate/comparison.h"

#include "base/testing.h"

namespace roofmark::gate {
namespace {

Verdict Of(const std::string& name, Outcome outcome) {
  Verdict verdict{.operator_name = "op",
                  .shape = "s",
                  .candidate = name,
                  .candidate_hash = "hash of " + name,
                  .gate = Gate::kPerformance,
                  .outcome = outcome};
  if (outcome == Outcome::kPassed) verdict.time_ns = Interval{1000, 990, 1010};
  return verdict;
}

TEST(MissingComparisons, BlameTheOneThatDidNotPass) {
  std::vector<Verdict> verdicts = {Of("good", Outcome::kPassed), Of("base", Outcome::kUnstable),
                                   Of("bad", Outcome::kWrongOutput)};
  ExplainMissingComparisons(1, &verdicts);
  ASSERT_TRUE(verdicts[0].against && verdicts[2].against);
  EXPECT_FALSE(verdicts[1].against) << "the baseline is not compared with itself";
  EXPECT_EQ(verdicts[0].against->standing, Standing::kNone);
  EXPECT_EQ(verdicts[0].against->reason,
            "base did not pass on op/s: unstable at the performance gate");
  EXPECT_EQ(verdicts[0].against->baseline_hash, "hash of base");
  EXPECT_THAT(verdicts[2].against->reason, testing::StartsWith("bad did not pass"));
  EXPECT_FALSE(verdicts[0].against->ratio);
}

TEST(MissingComparisons, BlameTheOneThatGotLessFarWhereBothFailed) {
  std::vector<Verdict> verdicts = {Of("late", Outcome::kUnstable), Of("early", Outcome::kCrashed)};
  verdicts[1].gate = Gate::kCorrectness;
  ExplainMissingComparisons(1, &verdicts);
  EXPECT_THAT(verdicts[0].against->reason, testing::StartsWith("early did not pass"));
}

TEST(MissingComparisons, LeaveWhatWasMeasuredAlone) {
  std::vector<Verdict> verdicts = {Of("good", Outcome::kPassed), Of("base", Outcome::kPassed)};
  verdicts[0].against = Against{.standing = Standing::kFaster, .ratio = Interval{0.5, 0.4, 0.6}};
  ExplainMissingComparisons(1, &verdicts);
  EXPECT_EQ(verdicts[0].against->standing, Standing::kFaster);
}

// A contestant that is refused after its comparison keeps no number of it.
TEST(MissingComparisons, TakeTheNumberFromOneThatWasRefusedAfterwards) {
  std::vector<Verdict> verdicts = {Of("good", Outcome::kPassed), Of("base", Outcome::kPassed)};
  verdicts[0].against = Against{.standing = Standing::kFaster, .ratio = Interval{0.5, 0.4, 0.6}};
  verdicts[0].outcome = Outcome::kStaleOutput;
  ExplainMissingComparisons(1, &verdicts);
  EXPECT_EQ(verdicts[0].against->standing, Standing::kNone);
  EXPECT_FALSE(verdicts[0].against->ratio);
}

}  // namespace
}  // namespace roofmark::gate
