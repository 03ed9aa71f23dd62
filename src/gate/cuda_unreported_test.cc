// SPDX-License-Identifier: Apache-2.0
#include "gate/cuda_unreported.h"

#include "base/testing.h"

namespace roofmark::gate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kStage = "stage-hash";

Json Findings(int64_t set_aside, int64_t policies, Json joined) {
  return Json::MakeObject()
      .Set("set_aside", set_aside)
      .Set("policies", policies)
      .Set("joined_ns", std::move(joined));
}

TEST(StageFindings, AreReadWithAJoinForEachCallOrForNone) {
  const auto found = ReadFindings(Findings(7, 2, Json::MakeArray().Push(1.5).Push(int64_t{2})), 2);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->set_aside, 7);
  EXPECT_EQ(found->policies, 2);
  EXPECT_THAT(found->joined_ns, ElementsAre(1.5, 2));
  EXPECT_THAT(ReadFindings(Findings(0, 0, Json::MakeArray()), 2), IsOk());
}

TEST(StageFindings, AreRefusedWhereJoinsAreMissingOrNoNumbers) {
  EXPECT_THAT(ReadFindings(Findings(0, 0, Json::MakeArray().Push(1.5)), 2),
              HasError(ErrorKind::kInput, "missing"));
  EXPECT_THAT(ReadFindings(Findings(0, 0, Json::MakeArray().Push("x")), 1),
              HasError(ErrorKind::kInput, "no number"));
  EXPECT_FALSE(ReadFindings(Json::MakeObject().Set("set_aside", int64_t{0}), 1).has_value());
}

TEST(LeftBehind, NamesAnAccessPolicyAndASetAside) {
  EXPECT_EQ(LeftBehind({}), "");
  EXPECT_EQ(LeftBehind({.policies = -1}), "");
  EXPECT_THAT(LeftBehind({.policies = 3}), HasSubstr("3 of the judge's flushes found one"));
  EXPECT_THAT(LeftBehind({.set_aside = 1 << 20}), HasSubstr("set aside for persisting lines"));
}

TEST(GoesOnElsewhere, ComparesWithTheBatchWithoutCalls) {
  const StageFindings empty{.joined_ns = {2'000, 2'100, 1'900}};
  EXPECT_EQ(GoesOnElsewhere({.joined_ns = {4'000, 5'000, 4'500}}, empty), "");
  EXPECT_THAT(GoesOnElsewhere({.joined_ns = {30'000, 32'000, 31'000}}, empty),
              HasSubstr("other streams went on for 29"));
  // One call of several may meet a busy machine.
  EXPECT_EQ(GoesOnElsewhere({.joined_ns = {2'000, 2'100, 90'000}}, empty), "");
}

TEST(GoesOnElsewhere, SaysNothingWhereNobodyWaited) {
  EXPECT_EQ(GoesOnElsewhere({}, {}), "");
  EXPECT_EQ(GoesOnElsewhere({.joined_ns = {90'000}}, {}), "");
}

// Two operations of 1 us that overlap by half, in one call.
MeterReport Report(int64_t conditionals) {
  MeterReport report{.conditionals = conditionals};
  report.modules = {{.sha256 = kStage, .loader = "/roofmark/roofmark"},
                    {.sha256 = "own", .loader = "/candidate/candidate.so"}};
  report.names = {{.name = "kernel", .modules = {1}}};
  report.operations = {{.start_ns = 10'000, .end_ns = 11'000},
                       {.start_ns = 10'500, .end_ns = 11'500}};
  return report;
}

Timeline OneCall() {
  Timeline timeline;
  timeline.calls = {{.device_ns = 1'500, .operations = {0, 1}}};
  return timeline;
}

TEST(ConditionalNodes, MakeACallAsLongAsItsEvents) {
  Timeline timeline = OneCall();
  CountConditionals(Report(1), {13'000}, &timeline);
  EXPECT_DOUBLE_EQ(timeline.calls[0].device_ns, 10'000);
  EXPECT_DOUBLE_EQ(timeline.calls[0].unseen_ns, 8'500);
}

TEST(ConditionalNodes, NeverShortenACall) {
  Timeline timeline = OneCall();
  CountConditionals(Report(1), {4'000}, &timeline);
  EXPECT_DOUBLE_EQ(timeline.calls[0].device_ns, 1'500);
  EXPECT_DOUBLE_EQ(timeline.calls[0].unseen_ns, 0);
}

TEST(ConditionalNodes, ChangeNothingWhereThereAreNone) {
  Timeline timeline = OneCall();
  CountConditionals(Report(0), {13'000}, &timeline);
  EXPECT_DOUBLE_EQ(timeline.calls[0].device_ns, 1'500);
  EXPECT_DOUBLE_EQ(timeline.calls[0].unseen_ns, 0);
}

TEST(ConditionalNodes, MayHoldAnyKernelOfTheProcess) {
  const Provenance provenance{.lane = Lane::kCuda, .own_code = {"own"}};
  EXPECT_EQ(OwnerOfUnseen(Report(1), provenance, kStage), Owner::kOwn);
  MeterReport report = Report(1);
  report.modules.push_back({.sha256 = "blas", .loader = "/usr/lib/libcublas.so.13"});
  EXPECT_EQ(OwnerOfUnseen(report, provenance, kStage), Owner::kUnknown);
  // What kernels launch, they were linked with.
  report.conditionals = 0;
  EXPECT_EQ(OwnerOfUnseen(report, provenance, kStage), Owner::kOwn);
}

TEST(Unreported, IsSaidInTheLevel) {
  EXPECT_EQ(UnreportedText(Report(0), Children::kNone, {}), "");
  EXPECT_THAT(UnreportedText(Report(0), Children::kUnreported, {}),
              HasSubstr("waits for all streams"));
  EXPECT_THAT(UnreportedText(Report(1), Children::kUnreported, {.policies = -1}),
              testing::AllOf(HasSubstr("kernels launch kernels"), HasSubstr("conditional nodes"),
                             HasSubstr("access policy for the L2 was not told")));
}

}  // namespace
}  // namespace roofmark::gate
