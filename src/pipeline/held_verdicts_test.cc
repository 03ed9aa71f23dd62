// SPDX-License-Identifier: Apache-2.0
#include "pipeline/held_verdicts.h"

#include "base/testing.h"

namespace roofmark::pipeline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class HeldVerdictsTest : public testing::Test {
 protected:
  static Verdict Passed(const std::string& candidate) {
    return {.operator_name = "scale",
            .shape = "0",
            .candidate = candidate,
            .gate = Gate::kPerformance,
            .outcome = Outcome::kPassed};
  }
  // Code that is in no cache, which a recompiler knows without a compiler.
  HeldVerdicts::Awaited Gone() const { return {.code = {"a hash"}, .by = recompiler_}; }

  std::shared_ptr<gate::Recompiler> recompiler_ =
      std::make_shared<gate::Recompiler>("sm_90", "scale/mine");
  std::vector<Verdict> passed_on_;
  std::vector<size_t> done_;
  const VerdictSink sink_ = [this](const Verdict& verdict, size_t done, size_t) -> Result<void> {
    passed_on_.push_back(verdict);
    done_.push_back(done);
    return {};
  };
  HeldVerdicts held_{sink_, 3};
};

TEST_F(HeldVerdictsTest, PassesOnAtOnceWhatWaitsForNothing) {
  held_.Add({Passed("a")}, {{}}, std::nullopt, 1);
  ASSERT_THAT(held_.PassOn(gate::Patience::kNone), IsOk());
  ASSERT_EQ(passed_on_.size(), 1U);
  EXPECT_EQ(passed_on_[0].outcome, Outcome::kPassed);
  EXPECT_THAT(done_, ElementsAre(1));
  ASSERT_THAT(held_.PassOn(gate::Patience::kWait), IsOk());
  EXPECT_EQ(passed_on_.size(), 1U);
}

TEST_F(HeldVerdictsTest, KeepsTheOrderInWhichTheyCame) {
  held_.Add({Passed("a"), Passed("b")}, {Gone(), {}}, std::nullopt, 1);
  held_.Add({Passed("c")}, {{}}, std::nullopt, 2);
  EXPECT_THAT(passed_on_, IsEmpty());
  ASSERT_THAT(held_.PassOn(gate::Patience::kNone), IsOk());
  ASSERT_EQ(passed_on_.size(), 3U);
  EXPECT_EQ(passed_on_[0].candidate, "a");
  EXPECT_EQ(passed_on_[0].outcome, Outcome::kFallback);
  EXPECT_EQ(passed_on_[1].outcome, Outcome::kPassed);
  EXPECT_THAT(done_, ElementsAre(1, 1, 2));
}

TEST_F(HeldVerdictsTest, ARefutedCandidateIsNoLongerComparedWithTheBaseline) {
  Verdict mine = Passed("mine");
  mine.against = Against{.baseline = "base"};
  held_.Add({mine, Passed("base")}, {Gone(), {}}, 1, 1);
  ASSERT_THAT(held_.PassOn(gate::Patience::kWait), IsOk());
  ASSERT_TRUE(passed_on_[0].against);
  EXPECT_THAT(passed_on_[0].against->reason, HasSubstr("mine did not pass on scale/0: fallback"));
}

TEST_F(HeldVerdictsTest, EndsWithTheSinksError) {
  const VerdictSink broken = [](const Verdict&, size_t, size_t) -> Result<void> {
    return Fail(ErrorKind::kIo, "the disk is full");
  };
  HeldVerdicts held(broken, 1);
  held.Add({Passed("a")}, {{}}, std::nullopt, 1);
  EXPECT_FALSE(held.PassOn(gate::Patience::kWait));
}

}  // namespace
}  // namespace roofmark::pipeline
