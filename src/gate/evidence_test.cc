// SPDX-License-Identifier: Apache-2.0
#include "gate/evidence.h"

#include "base/testing.h"
#include "gate/session.h"

namespace roofmark::gate {
namespace {

class EvidenceTest : public testing::Test {
 protected:
  EvidenceTest() {
    BatchTimes batch{.device_ns = {990, 1000, 1010.5}, .event_ns = {900}, .host_ns = {1001}};
    for (int i = 0; i < 40; ++i) batch.time_ns.push_back(1000 + 0.1 * i);
    batch.owner_ns[static_cast<size_t>(Owner::kOwn)] = 3;
    batch.owner_ns[static_cast<size_t>(Owner::kVendor)] = 0.1;
    timing_.Add(batch);
  }

  // A verdict as the store gives it back.
  Verdict Archived(const JudgeOptions& options, Outcome outcome) {
    Verdict verdict{.operator_name = "op", .shape = "s", .candidate = "x"};
    verdict.gate = Gate::kPerformance;
    verdict.outcome = outcome;
    verdict.samples_ns = timing_.time_ns;
    Json evidence = Json::MakeObject().Set("timing", TimingToJson(timing_));
    AddCircumstances(workload_, DeviceKind::kCpu, {.ns = 500, .against = "measured"}, options,
                     "abc", &evidence);
    verdict.evidence = *Json::Parse(evidence.Dump());
    return verdict;
  }

  Timing timing_;
  Operator op_{.name = "op", .folder = "/operators/op"};
  Workload workload_{.op = &op_};
};

TEST_F(EvidenceTest, SaysUnderWhatAVerdictWasMade) {
  const Verdict verdict = Archived({.last_gate = Gate::kCorrectness,
                                    .effort = Effort::kQuick,
                                    .require_adoption = 0.5,
                                    .call_timeout_s = 3},
                                   Outcome::kPassed);
  const Result<Circumstances> known = CircumstancesOf(verdict.evidence);
  ASSERT_THAT(known, IsOk());
  EXPECT_EQ(known->options.last_gate, Gate::kCorrectness);
  EXPECT_EQ(known->options.effort, Effort::kQuick);
  EXPECT_EQ(known->options.require_adoption, 0.5);
  EXPECT_EQ(known->options.call_timeout_s, 3);
  EXPECT_EQ(known->sol.ns, 500);
  EXPECT_EQ(known->secret, "abc");
  EXPECT_EQ(known->operator_files, "/operators/op");
}

TEST_F(EvidenceTest, ConcludesTheSameFromTheRawMeasurementsAlone) {
  const Verdict archived = Archived({}, Outcome::kPassed);
  const Result<Verdict> again = ConcludeAgain(archived);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->outcome, Outcome::kPassed);
  EXPECT_EQ(again->time_ns, MedianInterval(timing_.time_ns));
  EXPECT_EQ(again->clocks->device, MedianInterval(timing_.device_ns));
  EXPECT_EQ(again->attainment->median, 500 / again->time_ns->median);
  EXPECT_DOUBLE_EQ(Adoption(*again->shares), 3 / 3.1);
}

TEST_F(EvidenceTest, ConcludesByTheAdoptionThatWasRequiredThen) {
  const Result<Verdict> again =
      ConcludeAgain(Archived({.require_adoption = 0.99}, Outcome::kPassed));
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->outcome, Outcome::kFallback);
}

TEST_F(EvidenceTest, RefusesWhatLacksSamplesOrMakesNoSense) {
  Verdict without = Archived({}, Outcome::kPassed);
  without.samples_ns.clear();
  EXPECT_THAT(ConcludeAgain(without), HasError(ErrorKind::kInput, "samples are missing"));
  Verdict odd = Archived({}, Outcome::kPassed);
  odd.evidence.Set("effort", "some");
  EXPECT_THAT(ConcludeAgain(odd), HasError(ErrorKind::kInput, "'some' is not quick or full"));
}

TEST(SeedOf, FollowsFromTheSecretAndTheNumberAlone) {
  EXPECT_EQ(SeedOf("secret", 0), SeedOf("secret", 0));
  EXPECT_NE(SeedOf("secret", 0), SeedOf("secret", 1));
  EXPECT_NE(SeedOf("secret", 0), SeedOf("other", 0));
  EXPECT_GE(SeedOf("secret", 2), 0);
}

}  // namespace
}  // namespace roofmark::gate
