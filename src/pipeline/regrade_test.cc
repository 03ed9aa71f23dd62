// SPDX-License-Identifier: Apache-2.0
#include "pipeline/regrade.h"

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::pipeline {
namespace {

Verdict Measured(double median) {
  Verdict verdict{.operator_name = "op", .shape = "s", .candidate = "x", .device = "a GPU"};
  verdict.gate = Gate::kPerformance;
  verdict.outcome = Outcome::kPassed;
  verdict.time_ns = Interval{.median = median, .low = 1, .high = 3};
  return verdict;
}

TEST(DifferencesOf, NamesWhatDiffersInTheLastBit) {
  EXPECT_TRUE(DifferencesOf(Measured(2), Measured(2)).empty());
  const auto found = DifferencesOf(Measured(0.1 + 0.2), Measured(0.3));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], testing::HasSubstr("time_ns was {\"median\": 0.30000000000000004"));
}

TEST(DifferencesOf, LeavesTheOutcomeOfASingleCallAlone) {
  Verdict refused = Measured(2);
  refused.outcome = Outcome::kWrongOutput;
  EXPECT_TRUE(DifferencesOf(refused, Measured(2)).empty());
  refused.outcome = Outcome::kUnstable;
  EXPECT_EQ(DifferencesOf(refused, Measured(2)).size(), 1u);
}

class RegradeTest : public testing::Test {
 protected:
  // Keeps a verdict with this evidence and regrades the store without a run.
  std::vector<Regraded> Regrades(const Json& evidence) {
    auto store = store::Store::Open(dir_->path() / "s.db", OpenMode::kReadWrite);
    Verdict verdict = Measured(2);
    verdict.evidence = evidence;
    EXPECT_THAT(store->AddVerdicts(*store->AddRun({}), {{verdict}}), IsOk());
    std::vector<Regraded> all;
    EXPECT_THAT(
        Regrade(*store, {.run = false}, [&](const Regraded& regraded) { all.push_back(regraded); }),
        IsOk());
    return all;
  }

  Result<TempDir> dir_ = TempDir::Make("roofmark-regrade-test");
};

TEST_F(RegradeTest, AVerdictWithoutEvidenceIsNeitherTheSameNorDifferent) {
  const std::vector<Regraded> all = Regrades(Json());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].status, Regraded::Status::kNotArchived);
}

TEST_F(RegradeTest, EvidenceThatMakesNoSenseIsDamage) {
  const std::vector<Regraded> all = Regrades(Json::MakeObject().Set("gate", "performance"));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].status, Regraded::Status::kDamaged);
  EXPECT_THAT(all[0].differences[0], testing::HasSubstr("makes no sense"));
}

TEST_F(RegradeTest, AVerdictThatIsNotThereIsAnError) {
  auto store = store::Store::Open(dir_->path() / "s.db", OpenMode::kReadWrite);
  EXPECT_THAT(Regrade(*store, {.id = 7}, [](const Regraded&) {}),
              HasError(ErrorKind::kNotFound, "has no verdict 7"));
}

}  // namespace
}  // namespace roofmark::pipeline
