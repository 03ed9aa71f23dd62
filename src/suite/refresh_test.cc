// SPDX-License-Identifier: Apache-2.0
#include "suite/refresh.h"

#include "base/files.h"
#include "base/hash.h"
#include "base/testing.h"
#include "model/aggregate_for_tests.h"
#include "suite/from_aggregate.h"

namespace roofmark::suite {
namespace {

using testing::DoubleNear;

AggregateCell Norm(int64_t tokens, int64_t ns) {
  return {.op = "rms_norm",
          .axes = {{"tokens", tokens}, {"hidden", int64_t{4096}}},
          .phase = Phase::kDecode,
          .calls = 1,
          .launches = 1,
          .sum_ns = ns,
          .exposed_ns = ns};
}

ProfileAggregate ProfileOf(std::string hash, std::string application,
                           std::vector<AggregateCell> cells) {
  ProfileAggregate profile{.hash = std::move(hash), .application = std::move(application)};
  return WithCells(std::move(profile), std::move(cells));
}

Json Build(const Aggregate& aggregate, BuildOptions options) {
  const auto operators = ReadOperators(fs::path(ROOFMARK_SOURCE_DIR) / "operators").value();
  options.draws = 10;
  return BuildSuite(aggregate, operators, options).value();
}

double ShareOf(const FleetWeights& weights, int64_t tokens) {
  double share = 0;
  for (const FleetCell& cell : weights.cells) {
    if (std::get<int64_t>(cell.sums.axes.at("tokens")) == tokens) share += cell.share.value;
  }
  return share;
}

TEST(WeighWindows, AreTheMeanOfTheWindowsExactly) {
  const Aggregate june = AggregateOf({ProfileOf("a", "chat", {Norm(1, 80), Norm(8, 20)}),
                                      ProfileOf("b", "code", {Norm(1, 40), Norm(8, 60)})});
  const Aggregate july = AggregateOf({ProfileOf("c", "chat", {Norm(1, 10), Norm(8, 90)})});
  const FleetWeights weights =
      WeighWindows({{.aggregate = &june, .weight = 0.25}, {.aggregate = &july, .weight = 0.75}},
                   ShareKind::kPaid);
  EXPECT_THAT(ShareOf(weights, 1), DoubleNear(0.25 * 0.6 + 0.75 * 0.1, 1e-12));
  EXPECT_THAT(weights.total, DoubleNear(1, 1e-12));
  EXPECT_EQ(weights.applications.size(), 2U);  // chat of both windows is one
  EXPECT_EQ(weights.groups.size(), 3U);
}

TEST(WeighWindows, CountAProfileOfBothInTheLast) {
  const Aggregate june = AggregateOf({ProfileOf("a", "chat", {Norm(1, 80), Norm(8, 20)})});
  const Aggregate july = AggregateOf({ProfileOf("a", "chat", {Norm(1, 80), Norm(8, 20)}),
                                      ProfileOf("c", "chat", {Norm(1, 10), Norm(8, 90)})});
  const FleetWeights weights =
      WeighWindows({{.aggregate = &june, .weight = 0.25}, {.aggregate = &july, .weight = 0.75}},
                   ShareKind::kPaid);
  EXPECT_EQ(weights.profiles, 2U);
  EXPECT_THAT(ShareOf(weights, 1), DoubleNear(0.45, 1e-12));
  EXPECT_THAT(weights.total, DoubleNear(1, 1e-12));
}

// `runs` recordings of one application that spends 0.3, give or take `noise`, on one size.
Aggregate Window(size_t runs, double noise, uint64_t seed) {
  Random random(seed);
  Aggregate aggregate;
  for (size_t i = 0; i < runs; ++i) {
    const double off = noise * (static_cast<double>(random.Below(2001)) / 1000 - 1);
    const auto a = static_cast<int64_t>(1e6 * (0.3 + off));
    aggregate.Add(ProfileOf(std::to_string(seed) + "/" + std::to_string(i), "chat",
                            {Norm(1, a),
                             {.op = "gemm",
                              .calls = 1,
                              .launches = 1,
                              .sum_ns = 1000000 - a,
                              .exposed_ns = 1000000 - a}}));
  }
  return aggregate;
}

TEST(WeighNewWindow, TrustsTheWindowThatIsKnownBetter) {
  const auto weight = [](const Aggregate& older, const Aggregate& newer) {
    return WeighNewWindow(older, newer, ShareKind::kPaid, std::nullopt);
  };
  EXPECT_GT(weight(Window(4, 0.1, 1), Window(40, 0.1, 2)).weight, 0.75);
  EXPECT_LT(weight(Window(40, 0.1, 1), Window(4, 0.1, 2)).weight, 0.25);
  EXPECT_GT(weight(Window(20, 0.2, 1), Window(20, 0.02, 2)).weight, 0.95);
  EXPECT_EQ(weight(Window(4, 0.1, 1), Window(4, 0.1, 2)).from, "variances");
  const NewWindow single = weight(Window(1, 0.1, 1), Window(3, 0.1, 2));
  EXPECT_EQ(single.from, "profiles");
  EXPECT_DOUBLE_EQ(single.weight, 0.75);
  EXPECT_EQ(WeighNewWindow({}, {}, ShareKind::kPaid, 0.4).weight, 0.4);
}

// The mean by variances is nearer to the truth than either window.
TEST(WeighNewWindow, MakesTheErrorSmaller) {
  double of_new = 0;
  double of_mean = 0;
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    const Aggregate older = Window(24, 0.1, 2 * seed);
    const Aggregate newer = Window(8, 0.1, 2 * seed + 1);
    const double alpha = WeighNewWindow(older, newer, ShareKind::kPaid, std::nullopt).weight;
    const auto error = [](const FleetWeights& weights) {
      for (const FleetCell& cell : weights.cells) {
        if (cell.sums.op == "rms_norm") return (cell.share.value - 0.3) * (cell.share.value - 0.3);
      }
      return 1.0;
    };
    of_new += error(WeighAggregate(newer));
    of_mean += error(WeighWindows({{&older, 1 - alpha}, {&newer, alpha}}, ShareKind::kPaid));
  }
  EXPECT_LT(of_mean, 0.5 * of_new);  // a quarter, were the variances known
}

std::string ShapeOf(const Json& suite, size_t index) {
  return suite.Find("workloads")->array().at(index).Find("shape")->as_string();
}

TEST(Refresh, KeepsTheIdOfAShapeWhoseBucketMoved) {
  // 10003 and 10005 are one workload; in July the other is its median.
  const Json june =
      Build(AggregateOf({ProfileOf("a", "", {Norm(10003, 90), Norm(10005, 10)})}), {});
  const Aggregate newer = AggregateOf({ProfileOf("b", "", {Norm(10003, 10), Norm(10005, 90)})});
  EXPECT_NE(ShapeOf(june, 0), ShapeOf(Build(newer, {}), 0));
  const Json july = Build(newer, {.previous = &june});
  EXPECT_EQ(ShapeOf(june, 0), ShapeOf(july, 0));
  EXPECT_EQ(july.Find("refresh")->Find("kept")->as_int(), 1);
  EXPECT_EQ(july.Find("refresh")->Find("new")->as_int(), 0);
}

TEST(Refresh, RetiresAShapeAfterItWasOnceWithoutWeight) {
  const Json june = Build(AggregateOf({ProfileOf("a", "", {Norm(8, 50), Norm(512, 50)})}), {});
  const Aggregate without = AggregateOf({ProfileOf("b", "", {Norm(8, 50), Norm(4096, 50)})});
  const Json july = Build(without, {.previous = &june});
  ASSERT_EQ(july.Find("workloads")->array().size(), 3U);
  const Json& gone = july.Find("workloads")->array()[2];
  EXPECT_EQ(gone.Find("axes")->Find("tokens")->as_int(), 512);
  EXPECT_EQ(gone.Find("selection")->Find("as")->as_string(), "retiring");
  EXPECT_EQ(gone.Find("weight")->Find("value")->as_double(), 0);
  const TempDir folder = TempDir::Make("suite").value();
  ASSERT_THAT(WriteFile(folder.path() / "july.json", july.Dump(1)), IsOk());
  const auto loaded = LoadWeightedSuite(folder.path() / "july.json", {});
  ASSERT_THAT(loaded, IsOk());
  EXPECT_EQ(loaded->workloads.size(), 3U);
  const Json august = Build(without, {.previous = &july});
  EXPECT_EQ(august.Find("workloads")->array().size(), 2U);
  EXPECT_EQ(august.Find("refresh")->Find("retired")->as_int(), 1);
  EXPECT_EQ(august.Find("refresh")->Find("kept")->as_int(), 2);
}

TEST(Refresh, SaysHowItSmoothed) {
  const Aggregate older = Window(8, 0.1, 1);
  const Json suite = Build(Window(8, 0.1, 2), {.older = &older});
  EXPECT_EQ(suite.Find("smoothing")->Find("from")->as_string(), "variances");
  EXPECT_EQ(suite.Find("fleet")->Find("profiles")->as_int(), 16);
  EXPECT_EQ(Build(older, {}).Find("smoothing"), nullptr);
}

TEST(Refresh, FollowsNoOtherDocument) {
  const Json other = Json::MakeObject().Set("format", "x");
  EXPECT_THAT(ShapesOfSuite(other), HasError(ErrorKind::kInput, "format 'x'"));
  EXPECT_THAT(ShapesOfSuite(Json::MakeObject().Set("format", "roofmark-suite/1")),
              HasError(ErrorKind::kInput, "workloads"));
}

}  // namespace
}  // namespace roofmark::suite
