// SPDX-License-Identifier: Apache-2.0
#include "cli/readiness.h"

#include <algorithm>

#include "base/testing.h"

namespace roofmark::cli {
namespace {

using Answer = FitnessItem::Answer;

Verdict Fit(const std::string& shape) {
  Verdict verdict{.operator_name = "op",
                  .shape = shape,
                  .candidate = "x",
                  .gate = Gate::kPerformance,
                  .outcome = Outcome::kPassed,
                  .shares = Shares{1}};
  for (const char* name :
       {"cuda_graph", "host_synchronisation", "allocation", "workspace", "deterministic"}) {
    verdict.fitness.push_back({.name = name, .answer = Answer::kYes, .why = "fine"});
  }
  return verdict;
}

AgainstSummary Better() {
  return {.candidate = "x",
          .total = {.standing = Standing::kFaster, .ratio = Interval{0.5, 0.4, 0.6}},
          .not_slower = true};
}

Answer Of(const std::vector<FitnessItem>& items, const std::string& name) {
  return std::ranges::find(items, name, &FitnessItem::name)->answer;
}

TEST(Checklist, IsReadyWhenEverythingIsShown) {
  const AgainstSummary better = Better();
  EXPECT_TRUE(IsReady(Checklist({Fit("a"), Fit("b")}, &better, 0.95)));
  EXPECT_FALSE(IsReady({}));
}

TEST(Checklist, LetsWhatDoesNotApplyPass) {
  Verdict verdict = Fit("a");
  verdict.fitness[0].answer = Answer::kNotApplicable;
  const AgainstSummary better = Better();
  EXPECT_TRUE(IsReady(Checklist({verdict}, &better, 0.95)));
}

TEST(Checklist, SaysNoWhereOneWorkloadDoes) {
  const AgainstSummary better = Better();
  Verdict bad = Fit("b");
  bad.fitness[2] = {.name = "allocation", .answer = Answer::kNo, .why = "run called cudaMalloc"};
  const std::vector<FitnessItem> items = Checklist({Fit("a"), bad}, &better, 0.95);
  EXPECT_FALSE(IsReady(items));
  EXPECT_EQ(Of(items, "allocation"), Answer::kNo);
  EXPECT_EQ(Of(items, "workspace"), Answer::kYes);
}

TEST(Checklist, WantsEveryGateOnEveryWorkload) {
  const AgainstSummary better = Better();
  Verdict bad = Fit("b");
  bad.outcome = Outcome::kUnstable;
  EXPECT_EQ(Of(Checklist({Fit("a"), bad}, &better, 0.95), "gates"), Answer::kNo);
  Verdict early = Fit("b");
  early.gate = Gate::kCorrectness;
  EXPECT_EQ(Of(Checklist({early}, &better, 0.95), "gates"), Answer::kNo);
}

TEST(Checklist, WantsAdoptionThatWasSeen) {
  const AgainstSummary better = Better();
  Verdict unseen = Fit("a");
  unseen.shares = Shares{};
  EXPECT_EQ(Of(Checklist({unseen}, &better, 0.95), "adoption"), Answer::kNo);
  Verdict baseline = Fit("a");
  baseline.role = Role::kBaseline;
  EXPECT_EQ(Of(Checklist({baseline}, &better, 0.95), "adoption"), Answer::kNo);
  Verdict half = Fit("a");
  half.shares = Shares{0.5, 0, 0.5};
  EXPECT_EQ(Of(Checklist({half}, &better, 0.95), "adoption"), Answer::kNo);
  EXPECT_EQ(Of(Checklist({half}, &better, 0.5), "adoption"), Answer::kYes);
}

TEST(Checklist, TakesNoComparisonOfACandidateThatCallsItselfABaseline) {
  AgainstSummary summary = Better();
  EXPECT_TRUE(summary.better());
  summary.role = Role::kBaseline;
  EXPECT_FALSE(summary.better());
  const std::vector<FitnessItem> items = Checklist({Fit("a")}, &summary, 0.95);
  EXPECT_EQ(Of(items, "not_slower"), Answer::kNo);
  EXPECT_EQ(Of(items, "faster_in_total"), Answer::kNo);
}

TEST(Checklist, WantsBothClaimsOfTheComparison) {
  AgainstSummary summary = Better();
  summary.not_slower = false;
  EXPECT_EQ(Of(Checklist({Fit("a")}, &summary, 0.95), "not_slower"), Answer::kNo);
  summary = Better();
  summary.total.standing = Standing::kUndecided;
  EXPECT_EQ(Of(Checklist({Fit("a")}, &summary, 0.95), "faster_in_total"), Answer::kNo);
  EXPECT_FALSE(IsReady(Checklist({Fit("a")}, nullptr, 0.95)));
}

}  // namespace
}  // namespace roofmark::cli
