// SPDX-License-Identifier: Apache-2.0
#include "agent/campaign.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <map>

#include "agent/scripted_referee.h"
#include "base/files.h"
#include "base/testing.h"

namespace roofmark::agent {
namespace {

// Proposes the given texts in order.
class ListProvider : public Provider {
 public:
  explicit ListProvider(std::vector<std::string> texts) : texts_(std::move(texts)) {}
  std::string Identity() const override { return "list of " + std::to_string(texts_.size()); }
  Result<std::optional<Proposal>> Propose(const Context& context) override {
    const size_t next = context.history.size();
    if (next >= texts_.size()) return std::nullopt;
    return Proposal{.source = texts_[next],
                    .parameters = Json::MakeObject().Set("text", texts_[next]),
                    .hypothesis = "it is next"};
  }

 private:
  std::vector<std::string> texts_;
};

using Kernels = std::map<std::string, ScriptedKernel>;

class CampaignTest : public testing::Test {
 protected:
  CampaignTest() { EXPECT_THAT(WriteFile(dir_.path() / "naive.cc", "naive"), IsOk()); }

  // The original takes 1000; other kernels as scripted.
  ScriptedReferee MakeReferee() {
    return ScriptedReferee([this](const std::string& text) {
      const auto found = kernels_.find(text);
      return found == kernels_.end() ? ScriptedKernel{} : found->second;
    });
  }

  CampaignPlan Plan() {
    return {.operator_name = "op",
            .shape = "s",
            .device = "cpu",
            .incumbent = dir_.path() / "naive.cc",
            .budget_s = 1e9};
  }

  Result<CampaignResult> Run(const CampaignPlan& plan, std::vector<std::string> texts,
                             ScriptedReferee* referee, const std::string& folder = "campaign") {
    ListProvider provider(std::move(texts));
    steps_.clear();
    return RunCampaign(plan, dir_.path() / folder,
                       {.provider = provider,
                        .referee = *referee,
                        .seconds = [this] { return clock_ += 1; },
                        .on_step = [this](const Json& step) { steps_.push_back(step); },
                        .on_move = [](const std::string&) {}});
  }
  Result<CampaignResult> Run(std::vector<std::string> texts) {
    ScriptedReferee referee = MakeReferee();
    return Run(Plan(), std::move(texts), &referee);
  }

  std::vector<std::string> Decisions() const {
    std::vector<std::string> decisions;
    for (const Json& step : steps_) decisions.push_back(*step.String("decision"));
    return decisions;
  }
  fs::path In(const std::string& file) const { return dir_.path() / "campaign" / file; }

  TempDir dir_ = *TempDir::Make("roofmark-campaign");
  Kernels kernels_ = {{"slow", {.time_ns = 1500}},
                      {"fast", {.time_ns = 800}},
                      {"faster", {.time_ns = 500}},
                      {"wrong", {.time_ns = 100, .outcome = Outcome::kWrongOutput}},
                      {"crash", {.time_ns = 100, .outcome = Outcome::kCrashed}},
                      {"same", {.time_ns = 1000}},
                      {"hair", {.time_ns = 997}}};
  std::vector<Json> steps_;
  double clock_ = 0;
};

TEST_F(CampaignTest, PromotesWhatIsFasterAndNothingElse) {
  const auto result = Run({"slow", "wrong", "fast", "same", "faster", "crash"});
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(Decisions(), testing::ElementsAre("baseline", "kept", "refused", "promoted", "kept",
                                                "promoted", "refused", "upheld", "stopped"));
  EXPECT_TRUE(result->improved);
  EXPECT_EQ(result->promotions, 2);
  EXPECT_EQ(result->stop_reason, "exhausted");
  EXPECT_EQ(*ReadFile(result->promoted), "faster");
  EXPECT_NEAR(result->ratio.median, 0.5, 0.01);
  EXPECT_LT(result->ratio.low, result->ratio.high);
}

TEST_F(CampaignTest, ComparesWithThePresentChampionAndAuditsAgainstTheOriginal) {
  ScriptedReferee referee = MakeReferee();
  ASSERT_THAT(Run(Plan(), {"fast", "faster"}, &referee), IsOk());
  using Pair = std::pair<std::string, std::string>;
  EXPECT_THAT(
      referee.matches,
      testing::ElementsAre(Pair{"naive", "naive"}, Pair{"naive", "fast"}, Pair{"naive", "fast"},
                           Pair{"naive", "fast"}, Pair{"fast", "faster"}, Pair{"fast", "faster"},
                           Pair{"fast", "faster"}, Pair{"naive", "faster"}));
}

TEST_F(CampaignTest, KeepsTheOriginalWhenNothingIsFaster) {
  const auto result = Run({"same", "hair", "slow"});
  ASSERT_THAT(result, IsOk());
  EXPECT_FALSE(result->improved);
  EXPECT_TRUE(result->promoted.empty());
  EXPECT_FALSE(fs::exists(In("promoted.cc")));
  EXPECT_THAT(*ReadFile(In("report.md")), testing::HasSubstr("No kernel was promoted"));
}

TEST_F(CampaignTest, RecordsRefusalsWithTheirReason) {
  ASSERT_THAT(Run({"wrong"}), IsOk());
  EXPECT_EQ(*steps_[1].String("reason"), "wrong_output: scripted");
  EXPECT_EQ(*steps_[1].String("outcome"), "wrong_output");
  EXPECT_EQ(steps_[1].Find("ratio"), nullptr);
}

TEST_F(CampaignTest, NeverPromotesAKernelThatAGateRefusesInItsConfirmation) {
  ScriptedReferee referee = MakeReferee();
  referee.before_match = [&](size_t number) -> Result<void> {
    if (number == 4) kernels_["fast"].outcome = Outcome::kFallback;
    return {};
  };
  ASSERT_THAT(Run(Plan(), {"fast"}, &referee), IsOk());
  EXPECT_THAT(Decisions(), testing::ElementsAre("baseline", "refused", "stopped"));
}

// An absolute time cannot be published then, but which of two is faster can be known.
TEST_F(CampaignTest, DecidesOnAMachineThatIsTooRestlessForASingleTime) {
  kernels_["fast"].outcome = Outcome::kUnstable;
  kernels_["naive"].outcome = Outcome::kUnstable;
  EXPECT_TRUE(Run({"fast"})->improved);
}

TEST_F(CampaignTest, SpendsAShareOfTheErrorRateOnlyOnConfirmations) {
  ASSERT_THAT(Run({"slow", "fast", "slow", "faster"}), IsOk());
  EXPECT_EQ(steps_[1].Find("test"), nullptr);
  EXPECT_EQ(*steps_[2].Int("test"), 1);
  EXPECT_EQ(*steps_[4].Int("test"), 2);
  EXPECT_NEAR(*steps_[4].Double("share"), *steps_[2].Double("share") / 4, 1e-12);
}

TEST_F(CampaignTest, AsksForMoreThanTheNoiseOfTheMachine) {
  ScriptedReferee referee = MakeReferee();
  referee.noise = 0.3;
  kernels_["bit"] = {.time_ns = 970};
  ASSERT_THAT(Run(Plan(), {"bit"}, &referee), IsOk());
  EXPECT_GT(*steps_[0].Double("least_effect"), 0.02);
  EXPECT_EQ(*steps_[1].String("decision"), "kept");
}

TEST_F(CampaignTest, EndsWithTheReasonWhenTheIncumbentIsRefused) {
  kernels_["naive"] = {.outcome = Outcome::kWrongOutput};
  const auto result = Run({"fast"});
  ASSERT_THAT(result, IsOk());
  EXPECT_FALSE(result->incumbent_passed);
  EXPECT_EQ(result->stop_reason, "incumbent_refused");
  EXPECT_EQ(result->detail, "wrong_output: scripted");
  EXPECT_EQ(result->proposals, 0);
}

// A champion that passed with some seeds and fails with others is wrong.
TEST_F(CampaignTest, TakesAChampionBackThatFailsLater) {
  ScriptedReferee referee = MakeReferee();
  referee.before_match = [&](size_t number) -> Result<void> {
    if (number == 5) kernels_["fast"].outcome = Outcome::kWrongOutput;
    return {};
  };
  const auto result = Run(Plan(), {"fast", "faster", "same"}, &referee);
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(Decisions(),
              testing::ElementsAre("baseline", "promoted", "demoted", "kept", "stopped"));
  EXPECT_FALSE(result->improved);
  EXPECT_FALSE(fs::exists(In("promoted.cc")));
}

TEST_F(CampaignTest, StopsWhenTheOriginalItselfFailsLater) {
  ScriptedReferee referee = MakeReferee();
  referee.before_match = [&](size_t number) -> Result<void> {
    if (number == 2) kernels_["naive"].outcome = Outcome::kCrashed;
    return {};
  };
  const auto result = Run(Plan(), {"fast", "faster"}, &referee);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->stop_reason, "incumbent_failed");
  EXPECT_FALSE(result->incumbent_passed);
}

TEST_F(CampaignTest, WithdrawsAChampionThatTheAuditDoesNotBearOut) {
  ScriptedReferee referee = MakeReferee();
  referee.before_match = [&](size_t number) -> Result<void> {
    if (number == 5) kernels_["fast"].time_ns = 1001;
    return {};
  };
  const auto result = Run(Plan(), {"fast"}, &referee);
  ASSERT_THAT(result, IsOk());
  EXPECT_THAT(Decisions(), testing::ElementsAre("baseline", "promoted", "withdrawn", "stopped"));
  EXPECT_FALSE(result->improved);
  EXPECT_THAT(result->detail, testing::HasSubstr("did not bear"));
  EXPECT_FALSE(fs::exists(In("promoted.cc")));
}

// Each reading of the clock takes a second here, so a match takes one and a proposal another.
TEST_F(CampaignTest, StaysInsideItsBudget) {
  ScriptedReferee referee = MakeReferee();
  CampaignPlan plan = Plan();
  plan.budget_s = 20;
  const auto result = Run(plan, std::vector<std::string>(100, "slow"), &referee);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->stop_reason, "budget");
  EXPECT_LE(*steps_.back().Double("spent_s"), 20);
  EXPECT_GT(result->proposals, 4);
}

TEST_F(CampaignTest, JudgesOneProposalHoweverSmallTheBudget) {
  ScriptedReferee referee = MakeReferee();
  CampaignPlan plan = Plan();
  plan.budget_s = 0.5;
  const auto result = Run(plan, {"fast", "faster"}, &referee);
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->proposals, 1);
  EXPECT_TRUE(result->improved);
}

// The same kernel under many names: the union bound promises 5 % of campaigns at most.
TEST_F(CampaignTest, HardlyEverPromotesAKernelAgainstItself) {
  int promoting = 0;
  for (int c = 0; c < 10; ++c) {
    std::vector<std::string> texts;
    for (int k = 0; k < 15; ++k) texts.push_back("copy " + std::to_string(100 * c + k));
    ScriptedReferee referee = MakeReferee();
    referee.noise = 0.05;
    const auto result = Run(Plan(), texts, &referee, "same" + std::to_string(c));
    ASSERT_THAT(result, IsOk());
    promoting += result->promotions > 0 ? 1 : 0;
  }
  EXPECT_LE(promoting, 1);
}

const std::vector<std::string> kMixed = {"slow", "fast", "wrong", "same", "faster", "hair"};

TEST_F(CampaignTest, ContinuesFromEveryPlaceWhereItsJournalCanEnd) {
  ScriptedReferee referee = MakeReferee();
  ASSERT_THAT(Run(Plan(), kMixed, &referee, "whole"), IsOk());
  const std::string whole = *ReadFile(dir_.path() / "whole/journal.jsonl");
  const Json report = *ReadJson(dir_.path() / "whole/report.json");
  size_t cut = 0;
  for (size_t line = 0; cut != std::string::npos; ++line) {
    // At the end of a line, and in the middle of the next one.
    for (const size_t extra : {size_t{0}, size_t{30}}) {
      fs::remove_all(dir_.path() / "cut");
      ASSERT_THAT(WriteFile(dir_.path() / "cut/journal.jsonl", whole.substr(0, cut + extra)),
                  IsOk());
      // Sources are written before the line that names them.
      fs::copy(dir_.path() / "whole/kernels", dir_.path() / "cut/kernels");
      const auto result = Run(Plan(), kMixed, &referee, "cut");
      ASSERT_THAT(result, IsOk()) << "after line " << line;
      EXPECT_EQ(*ReadFile(result->promoted), "faster");
      const Json again = *ReadJson(dir_.path() / "cut/report.json");
      for (const char* key : {"champion", "ratio", "proposals", "promotions", "tests"}) {
        EXPECT_EQ(*again.Find(key), *report.Find(key)) << key << " after line " << line;
      }
    }
    const size_t end = whole.find('\n', cut);
    cut = end == std::string::npos || end + 1 >= whole.size() ? std::string::npos : end + 1;
  }
}

TEST_F(CampaignTest, SurvivesAKillDuringAnyMatch) {
  for (size_t killed_at = 1; killed_at <= 5; ++killed_at) {
    const std::string folder = "killed" + std::to_string(killed_at);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ScriptedReferee referee = MakeReferee();
      referee.before_match = [&](size_t number) -> Result<void> {
        if (number == killed_at) ::kill(::getpid(), SIGKILL);
        return {};
      };
      const auto unused = Run(Plan(), {"fast"}, &referee, folder);
      ::_exit(unused ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    ScriptedReferee referee = MakeReferee();
    const auto result = Run(Plan(), {"fast"}, &referee, folder);
    ASSERT_THAT(result, IsOk());
    EXPECT_TRUE(result->improved);
    // Nothing that was recorded is measured again.
    EXPECT_EQ(referee.matches.size(), 5 - killed_at + 1);
  }
}

TEST_F(CampaignTest, ContinuesAfterAnErrorOfTheMachine) {
  ScriptedReferee referee = MakeReferee();
  referee.before_match = [](size_t number) -> Result<void> {
    if (number == 2) return Fail(ErrorKind::kDevice, "the device went away");
    return {};
  };
  EXPECT_THAT(Run(Plan(), {"fast"}, &referee), HasError(ErrorKind::kDevice, "went away"));
  EXPECT_TRUE(Run({"fast"})->improved);
}

TEST_F(CampaignTest, RefusesToContinueAnotherCampaign) {
  ASSERT_THAT(Run({"fast"}), IsOk());
  EXPECT_THAT(Run({"fast", "faster"}), HasError(ErrorKind::kInput, "another provider"));
  ScriptedReferee referee = MakeReferee();
  CampaignPlan plan = Plan();
  plan.shape = "t";
  plan.error_rate = 0.1;
  EXPECT_THAT(Run(plan, {"fast"}, &referee), HasError(ErrorKind::kInput, "shape, error_rate"));
}

TEST_F(CampaignTest, ReportsAFinishedCampaignAgainWithoutMeasuring) {
  ASSERT_THAT(Run({"fast"}), IsOk());
  ScriptedReferee referee = MakeReferee();
  const auto again = Run(Plan(), {"fast"}, &referee);
  ASSERT_THAT(again, IsOk());
  EXPECT_TRUE(again->improved);
  EXPECT_THAT(Decisions(), testing::ElementsAre("stopped"));
  EXPECT_TRUE(referee.matches.empty());
}

}  // namespace
}  // namespace roofmark::agent
