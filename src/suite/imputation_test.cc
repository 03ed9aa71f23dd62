// SPDX-License-Identifier: Apache-2.0
#include "suite/imputation.h"

#include "base/files.h"
#include "base/testing.h"
#include "model/aggregate_for_tests.h"
#include "suite/from_aggregate.h"

namespace roofmark::suite {
namespace {

using testing::DoubleNear;

AggregateCell Norm(int64_t tokens, int64_t ns, Phase phase = Phase::kDecode) {
  AggregateCell cell{
      .op = "rms_norm", .phase = phase, .calls = 1, .launches = 1, .sum_ns = ns, .exposed_ns = ns};
  if (tokens > 0) cell.axes = {{"tokens", tokens}, {"hidden", int64_t{4096}}};
  return cell;
}

constexpr int64_t kNoShape = 0;

ProfileAggregate ProfileOf(std::string hash, std::string application,
                           std::vector<AggregateCell> cells) {
  ProfileAggregate profile{.hash = std::move(hash), .application = std::move(application)};
  return WithCells(std::move(profile), std::move(cells));
}

// "chat" knows two shapes and lacks one fifth; "code" lacks all of its prefill.
Aggregate Fleet() {
  return AggregateOf({ProfileOf("a", "chat", {Norm(8, 60), Norm(4096, 20), Norm(kNoShape, 20)}),
                      ProfileOf("b", "code", {Norm(8, 70), Norm(kNoShape, 30, Phase::kPrefill)})});
}

Json Build(const Aggregate& aggregate, bool impute) {
  const auto operators = ReadOperators(fs::path(ROOFMARK_SOURCE_DIR) / "operators").value();
  return BuildSuite(aggregate, operators, {.impute = impute, .draws = 20}).value();
}

double Value(const Json& json, std::string_view key) {
  return json.Find(key)->as_double();
}

TEST(Imputation, SpreadsWithinAnApplicationAndPhaseInProportion) {
  const Json suite = Build(Fleet(), true);
  EXPECT_THAT(Value(suite, "shape_unknown"), DoubleNear(0.5 * 0.2 + 0.5 * 0.3, 1e-12));
  EXPECT_THAT(Value(suite, "imputed"), DoubleNear(0.5 * 0.2, 1e-12));  // nothing for code's prefill
  EXPECT_THAT(Value(suite, "coverage"), DoubleNear(0.85, 1e-12));
  EXPECT_THAT(Value(suite, "outside"), DoubleNear(0.15, 1e-12));
  const Json& small = suite.Find("workloads")->array()[0];
  EXPECT_EQ(small.Find("axes")->Find("tokens")->as_int(), 8);
  EXPECT_THAT(Value(*small.Find("weight"), "value"), DoubleNear(0.5 * 0.75 + 0.5 * 0.7, 1e-12));
  EXPECT_THAT(Value(small, "imputed"), DoubleNear(0.5 * 0.15, 1e-12));
}

TEST(Imputation, IsOnlyStatedWhereNobodyAskedForIt) {
  const Json suite = Build(Fleet(), false);
  EXPECT_EQ(Value(suite, "imputed"), 0);
  EXPECT_THAT(Value(suite, "imputable"), DoubleNear(0.1, 1e-12));
  EXPECT_THAT(Value(suite, "coverage"), DoubleNear(0.75, 1e-12));
}

TEST(Imputation, BoundsTheWorstThatItCouldGetWrong) {
  for (const bool impute : {false, true}) {
    const Json suite = Build(Fleet(), impute);
    for (const Json& workload : suite.Find("workloads")->array()) {
      const Json::Array& bounds = workload.Find("bounds")->array();
      const double value = Value(*workload.Find("weight"), "value");
      // All of decode's unknown time in this one shape, or none of it.
      EXPECT_THAT(bounds[1].as_double() - bounds[0].as_double(), DoubleNear(0.1, 1e-12));
      EXPECT_GE(value, bounds[0].as_double() - 1e-12);
      EXPECT_LE(value, bounds[1].as_double() + 1e-12);
    }
  }
}

// The time that two shapes have comes back when half of it is recorded without.
TEST(Imputation, GivesBackWhatWasTakenAway) {
  const Json known = Build(AggregateOf({ProfileOf("a", "chat", {Norm(8, 600), Norm(4096, 200)}),
                                        ProfileOf("b", "code", {Norm(8, 100), Norm(4096, 300)})}),
                           false);
  const Json taken =
      Build(AggregateOf({ProfileOf("a", "chat", {Norm(8, 300), Norm(4096, 100), Norm(0, 400)}),
                         ProfileOf("b", "code", {Norm(8, 50), Norm(4096, 150), Norm(0, 200)})}),
            true);
  for (size_t i = 0; i < 2; ++i) {
    const Json& a = known.Find("workloads")->array()[i];
    const Json& b = taken.Find("workloads")->array()[i];
    EXPECT_EQ(a.Find("shape")->as_string(), b.Find("shape")->as_string());
    EXPECT_THAT(Value(*a.Find("weight"), "value"),
                DoubleNear(Value(*b.Find("weight"), "value"), 1e-12));
  }
}

TEST(Imputation, SaysWhichApplicationsAndProfilesAWeightIsFrom) {
  const Json suite = Build(Fleet(), false);
  const Json& small = suite.Find("workloads")->array()[0];
  const Json::Array& applications = small.Find("applications")->array();
  ASSERT_EQ(applications.size(), 2U);
  EXPECT_EQ(applications[0].array()[0].as_string(), "code");
  EXPECT_THAT(applications[0].array()[1].as_double(), DoubleNear(0.35, 1e-12));
  EXPECT_EQ(small.Find("profiles")->as_int(), 2);
  EXPECT_EQ(small.Find("largest_profiles")->array()[0].array()[0].as_string(), "b");
}

}  // namespace
}  // namespace roofmark::suite
