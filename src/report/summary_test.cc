// SPDX-License-Identifier: Apache-2.0
#include "base/testing.h"
#include "report/summary_internal.h"

namespace roofmark::report {
namespace {

using ::testing::ElementsAre;

Verdict VerdictOf(const std::string& candidate, const std::string& shape, Outcome outcome) {
  return {.operator_name = "op", .shape = shape, .candidate = candidate, .outcome = outcome};
}

WorkloadRow WorkloadOf(const std::string& shape, double weight) {
  WorkloadRow row{.op = "op", .shape = shape, .ops = 1000, .bytes = 500};
  row.weight.value = weight;
  row.datasheet = {.sol_ns = 10, .bound_by = "memory"};
  return row;
}

TEST(Summary, IsNotReadyWhereAVerdictFailedWhateverWasAnswered) {
  report::Run run;
  run.verdicts = {VerdictOf("a", "0", Outcome::kPassed), VerdictOf("a", "1", Outcome::kCrashed)};
  run.readiness = {{.candidate = "a", .ready = true}};
  const auto summaries = Summarise(run);
  EXPECT_EQ(summaries.at(0).standing, Standing::kNotReady);
  EXPECT_EQ(FailureText(summaries[0]), "crashed 1");
}

TEST(Summary, DoesNotCallReadyWhatWasNotAsked) {
  report::Run run;
  run.verdicts = {VerdictOf("a", "0", Outcome::kPassed)};
  const auto summaries = Summarise(run);
  EXPECT_EQ(summaries.at(0).standing, Standing::kGatesPassed);
  EXPECT_EQ(MakeHeadline(run, summaries).state, "gates_passed");
}

TEST(Summary, NamesWhatIsMissingForReadiness) {
  report::Run run;
  run.verdicts = {VerdictOf("a", "0", Outcome::kPassed)};
  run.readiness = {{.candidate = "a", .op = "op", .ready = false, .reasons = {"allocates"}}};
  const auto summaries = Summarise(run);
  EXPECT_EQ(summaries.at(0).standing, Standing::kNotReady);
  EXPECT_EQ(MakeHeadline(run, summaries).detail,
            "1 of 1 workload passed every gate: op: allocates");
}

TEST(Summary, PutsCandidatesBeforeBaselinesAndBetterScoresFirst) {
  report::Run run;
  run.verdicts = {VerdictOf("base", "0", Outcome::kPassed), VerdictOf("low", "0", Outcome::kPassed),
                  VerdictOf("high", "0", Outcome::kPassed)};
  run.verdicts[0].role = Role::kBaseline;
  run.scores = {{.candidate = "low", .op = "all", .s = 0.1},
                {.candidate = "high", .op = "all", .s = 0.9},
                {.candidate = "base", .op = "all", .s = 1}};
  const auto summaries = Summarise(run);
  ASSERT_EQ(summaries.size(), 3U);
  EXPECT_EQ(summaries[0].candidate, "high");
  EXPECT_EQ(summaries[2].candidate, "base");
}

TEST(Summary, PrefersTheRoofmarkScoreAndSkipsScoresOfOnePhase) {
  report::Run run;
  run.verdicts = {VerdictOf("a", "0", Outcome::kPassed)};
  run.scores = {{.candidate = "a", .op = "all", .kind = ScoreKind::kPublished, .s = 0.3},
                {.candidate = "a", .op = "all", .kind = ScoreKind::kRoofmark, .s = 0.2},
                {.candidate = "a", .op = "all", .phase = Phase::kDecode, .s = 0.9}};
  EXPECT_EQ(Summarise(run).at(0).total->s, 0.2);
}

TEST(Headline, SaysThatNothingWasJudged) {
  report::Run run;
  run.workloads = {WorkloadOf("0", 1)};
  const Headline headline = MakeHeadline(run, Summarise(run));
  EXPECT_EQ(headline.state, "nothing");
  EXPECT_EQ(headline.detail, "the suite has 1 workload");
}

TEST(Points, PutsAnUnmeasuredWorkloadOnItsRoof) {
  report::Run run;
  run.workloads = {WorkloadOf("0", 1)};
  run.verdicts = {VerdictOf("a", "0", Outcome::kCrashed)};
  const auto points = Points(run);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_FALSE(points[0].verdict.has_value());
  EXPECT_DOUBLE_EQ(points[0].intensity, 2);
  EXPECT_DOUBLE_EQ(points[0].ops_per_s, 1e11);
}

TEST(Points, ComputesAttainmentAgainstBothRoofs) {
  report::Run run;
  run.workloads = {WorkloadOf("0", 1)};
  run.workloads[0].measured = {.sol_ns = 15, .bound_by = "memory"};
  run.verdicts = {VerdictOf("a", "0", Outcome::kPassed)};
  run.verdicts[0].time_ns = Interval{.median = 20, .low = 10, .high = 40};
  const auto points = Points(run);
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].against_datasheet, (Interval{.median = 0.5, .low = 0.25, .high = 1}));
  EXPECT_EQ(points[0].against_measured, (Interval{.median = 0.75, .low = 0.375, .high = 1.5}));
  EXPECT_DOUBLE_EQ(points[0].bytes_per_s, 2.5e10);
}

TEST(OwnerRows, WeighsWorkloadsByImportance) {
  report::Run run;
  run.workloads = {WorkloadOf("0", 0.75), WorkloadOf("1", 0.25)};
  run.verdicts = {VerdictOf("a", "0", Outcome::kPassed), VerdictOf("a", "1", Outcome::kPassed)};
  run.verdicts[0].shares = Shares{1, 0, 0, 0, 0, 0, 0};
  run.verdicts[1].shares = Shares{0, 0, 1, 0, 0, 0, 0};
  const auto rows = OwnerRows(run);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_THAT(rows[0].shares, ElementsAre(0.75, 0, 0.25, 0, 0, 0, 0, 0));
}

TEST(OwnerRows, CountsWorkloadsAlikeWhereNoneHasAWeight) {
  report::Run run;
  run.verdicts = {VerdictOf("a", "0", Outcome::kPassed), VerdictOf("a", "1", Outcome::kPassed)};
  run.verdicts[0].shares = Shares{1, 0, 0, 0, 0, 0, 0};
  run.verdicts[1].shares = Shares{0, 0, 1, 0, 0, 0, 0};
  EXPECT_THAT(OwnerRows(run).at(0).shares, ElementsAre(0.5, 0, 0.5, 0, 0, 0, 0, 0));
}

TEST(VerdictOrder, PutsTheFailedFirst) {
  report::Run run;
  run.verdicts = {VerdictOf("a", "0", Outcome::kPassed), VerdictOf("a", "1", Outcome::kCrashed)};
  EXPECT_THAT(VerdictOrder(run), ElementsAre(1, 0));
}

}  // namespace
}  // namespace roofmark::report
