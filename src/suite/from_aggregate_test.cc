// SPDX-License-Identifier: Apache-2.0
#include "suite/from_aggregate.h"

#include <cmath>

#include "base/files.h"
#include "base/testing.h"
#include "model/aggregate_for_tests.h"
#include "suite/aggregate_weights.h"

namespace roofmark::suite {
namespace {

using testing::DoubleNear;

AggregateCell Norm(int64_t tokens, int64_t ns, std::string dtype = "bf16",
                   Phase phase = Phase::kDecode) {
  return {.op = "rms_norm",
          .axes = {{"tokens", tokens}, {"hidden", int64_t{4096}}},
          .dtypes = {{"x", std::move(dtype)}},
          .phase = phase,
          .calls = 10,
          .launches = 10,
          .sum_ns = ns,
          .exposed_ns = ns,
          .kernels = {{"rms_norm_kernel", {10, ns}}}};
}

AggregateCell Other(std::string op, int64_t ns) {
  return {.op = std::move(op), .calls = 1, .launches = 1, .sum_ns = ns, .exposed_ns = ns};
}

ProfileAggregate ProfileOf(std::string hash, std::vector<AggregateCell> cells,
                           std::string application = "", double hours = 0) {
  ProfileAggregate profile{.hash = std::move(hash), .application = std::move(application)};
  profile.device = "NVIDIA H200";
  if (hours > 0) profile.card_ms = std::llround(hours * 3.6e6);
  return WithCells(std::move(profile), std::move(cells));
}

double ShareOf(const FleetWeights& weights, std::string_view op) {
  double share = 0;
  for (const FleetCell& cell : weights.cells) share += cell.sums.op == op ? cell.share.value : 0;
  return share;
}

TEST(AggregateWeights, WeighProfilesByCardHours) {
  const FleetWeights weights =
      WeighAggregate(AggregateOf({ProfileOf("a", {Norm(1, 100), Other("gemm", 900)}, "chat", 3),
                                  ProfileOf("b", {Norm(1, 30), Other("gemm", 10)}, "chat", 1)}));
  // 3/4 * 0.1 + 1/4 * 0.75
  EXPECT_THAT(ShareOf(weights, "rms_norm"), DoubleNear(0.2625, 1e-12));
  EXPECT_THAT(weights.total, DoubleNear(1, 1e-12));
  EXPECT_EQ(weights.units.size(), 2U);
  EXPECT_DOUBLE_EQ(weights.card_hours, 4);
}

TEST(AggregateWeights, KnowTheWholeTimeOfCallsThatMixedStepsShare) {
  AggregateCell decode = Norm(40, 2000);
  decode.calls = decode.launches = 0;  // which are counted with prefill
  decode.elsewhere_calls = 2;
  decode.elsewhere_ns = 6000;
  const FleetWeights weights = WeighAggregate(AggregateOf({ProfileOf("a", {decode})}));
  EXPECT_DOUBLE_EQ(weights.cells[0].deployed_ns.at("NVIDIA H200"), 4000);
}

TEST(AggregateWeights, CountTheHoursOfAGroupOnce) {
  std::vector<ProfileAggregate> profiles = {
      ProfileOf("a", {Norm(1, 100), Other("gemm", 900)}, "chat", 3),
      ProfileOf("b", {Norm(1, 300), Other("gemm", 100)}, "chat", 3),
      ProfileOf("c", {Other("gemm", 10)}, "code", 1)};
  profiles[0].group = profiles[1].group = "row 2";
  FleetWeights weights = WeighAggregate(AggregateOf(profiles));
  EXPECT_DOUBLE_EQ(weights.card_hours, 4);
  EXPECT_THAT(ShareOf(weights, "rms_norm"), DoubleNear(0.75 * 400 / 1400, 1e-12));
  ASSERT_EQ(weights.applications.size(), 2U);
  EXPECT_EQ(weights.applications[0].profiles, 2U);
  EXPECT_THAT(weights.effective, DoubleNear(1 / (0.75 * 0.75 + 0.25 * 0.25), 1e-12));
  // Taking a bad profile out leaves the hours of its row.
  profiles.erase(profiles.begin());
  weights = WeighAggregate(AggregateOf(profiles));
  EXPECT_DOUBLE_EQ(weights.card_hours, 4);
  EXPECT_THAT(ShareOf(weights, "rms_norm"), DoubleNear(0.75 * 0.75, 1e-12));
}

TEST(AggregateWeights, AreOfPaidOrOfBusyCardTime) {
  std::vector<ProfileAggregate> profiles = {ProfileOf("a", {Norm(1, 100)}, "chat", 1),
                                            ProfileOf("b", {Other("gemm", 100)}, "code", 1)};
  profiles[0].window_ns = 100;
  profiles[1].window_ns = 150;
  profiles[1].devices = 2;
  EXPECT_THAT(ShareOf(WeighAggregate(AggregateOf(profiles)), "rms_norm"), DoubleNear(0.5, 1e-12));
  EXPECT_THAT(ShareOf(WeighAggregate(AggregateOf(profiles), ShareKind::kBusy), "rms_norm"),
              DoubleNear(1 / (1 + 1.0 / 3), 1e-12));
}

TEST(AggregateWeights, PoolProfilesOfAnApplicationWithoutHours) {
  const FleetWeights weights = WeighAggregate(AggregateOf(
      {ProfileOf("a", {Norm(1, 100), Other("gemm", 900)}, "chat"),
       ProfileOf("b", {Norm(1, 3000)}, "chat"), ProfileOf("c", {Other("gemm", 5)}, "code")}));
  // Two applications of equal weight; the first by the ratio of its sums.
  EXPECT_EQ(weights.units.size(), 2U);
  EXPECT_THAT(ShareOf(weights, "rms_norm"), DoubleNear(0.5 * 3100 / 4000, 1e-12));
}

TEST(AggregateWeights, HaveAJackknifeInterval) {
  const FleetWeights one = WeighAggregate(AggregateOf({ProfileOf("a", {Norm(1, 100)})}));
  EXPECT_DOUBLE_EQ(one.cells[0].share.low, one.cells[0].share.high);
  // Shares 0.2, 0.4, 0.6 of equal units: mean 0.4, standard error 0.2 / sqrt(3), which is 0.4811 in
  // log-odds; two degrees of freedom, and 1 + 1.2^2 / 0.56 for those that hold it, so t(2) = 4.303.
  const FleetWeights three =
      WeighAggregate(AggregateOf({ProfileOf("a", {Norm(1, 20), Other("gemm", 80)}),
                                  ProfileOf("b", {Norm(1, 40), Other("gemm", 60)}),
                                  ProfileOf("c", {Norm(1, 60), Other("gemm", 40)})}));
  const Share share = three.cells[1].share;
  const double odds = 0.4 / 0.6;
  const double reach = std::exp(4.303 * 0.2 / std::sqrt(3.0) / (0.4 * 0.6));
  EXPECT_THAT(share.value, DoubleNear(0.4, 1e-12));
  EXPECT_THAT(share.low, DoubleNear(odds / reach / (1 + odds / reach), 1e-9));
  EXPECT_THAT(share.high, DoubleNear(odds * reach / (1 + odds * reach), 1e-9));
}

Json Build(const Aggregate& aggregate) {
  const auto operators = ReadOperators(fs::path(ROOFMARK_SOURCE_DIR) / "operators").value();
  const auto suite = BuildSuite(aggregate, operators);
  EXPECT_THAT(suite, IsOk());
  return suite.value_or(Json::MakeObject());
}

TEST(FromAggregate, KeepsBesideTheWorkloadsWhatIsNotInThem) {
  AggregateCell unknown = Norm(8, 50);
  unknown.axes.clear();
  const Json suite = Build(AggregateOf({ProfileOf(
      "a", {Norm(8, 300), unknown, Norm(8, 50, "f16"), Other("sampling", 500), Other("", 100)})}));
  EXPECT_THAT(suite.Find("coverage")->as_double(), DoubleNear(0.3, 1e-12));
  EXPECT_THAT(suite.Find("unattributed")->as_double(), DoubleNear(0.1, 1e-12));
  EXPECT_EQ(suite.Find("workloads")->array().size(), 1U);
  const Json& sampling = suite.Find("operators")->array()[0];
  EXPECT_EQ(sampling.Find("operator")->as_string(), "sampling");
  EXPECT_NE(sampling.Find("outside")->Find("no card"), nullptr);
  const Json& norm = suite.Find("operators")->array()[1];
  EXPECT_THAT(norm.Find("outside")->Find("shape unknown")->as_double(), DoubleNear(0.05, 1e-12));
  EXPECT_THAT(norm.Find("outside")->Find("other element types")->as_double(),
              DoubleNear(0.05, 1e-12));
  double shares = 0;
  for (const Json& row : suite.Find("operators")->array()) {
    shares += row.Find("share")->Find("value")->as_double();
  }
  EXPECT_THAT(shares, DoubleNear(1, 1e-12));
}

TEST(FromAggregate, MergesNearbySizesButNotGraphSizes) {
  const Json suite = Build(AggregateOf({ProfileOf(
      "a", {Norm(10001, 100), Norm(10003, 300), Norm(12007, 50), Norm(32, 70), Norm(33, 60)})}));
  const Json::Array& workloads = suite.Find("workloads")->array();
  ASSERT_EQ(workloads.size(), 4U);
  EXPECT_EQ(workloads[0].Find("merged_shapes")->as_int(), 2);
  EXPECT_EQ(workloads[0].Find("axes")->Find("tokens")->as_int(), 10003);
  EXPECT_EQ(workloads[0].Find("calls")->as_int(), 20);
  EXPECT_DOUBLE_EQ(workloads[0].Find("deployed_ns")->as_double(), 30);
}

TEST(FromAggregate, RefusesShapesThatTheCardCannotCompute) {
  AggregateCell huge = Norm(1, 50);
  huge.axes["tokens"] = int64_t{1} << 60;
  const Json suite = Build(AggregateOf({ProfileOf("a", {Norm(8, 50), huge})}));
  EXPECT_THAT(suite.Find("coverage")->as_double(), DoubleNear(0.5, 1e-12));
  EXPECT_NE(suite.Find("operators")->array()[0].Find("outside")->Find("the card refuses the shape"),
            nullptr);
}

TEST(FromAggregate, PublishesHowEachShapeWasSelected) {
  std::vector<AggregateCell> cells;
  for (int64_t i = 0; i < 40; ++i) cells.push_back(Norm(1 << (i % 14), 10 + i));
  for (int64_t i = 0; i < 60; ++i) cells.push_back(Norm(1000 + 64 * i, 200 - 3 * i));
  const auto operators = ReadOperators(fs::path(ROOFMARK_SOURCE_DIR) / "operators").value();
  const Aggregate aggregate =
      AggregateOf({ProfileOf("a", cells, "chat", 1), ProfileOf("b", {Norm(8, 50)}, "code", 1)});
  BuildOptions options{.select = {.shapes = 20}, .draws = 50};
  const Json suite = BuildSuite(aggregate, operators, options).value();
  double weight = 0;
  size_t weighed = 0;
  for (const Json& workload : suite.Find("workloads")->array()) {
    const Json& how = *workload.Find("selection");
    const double value = workload.Find("weight")->Find("value")->as_double();
    weight += value;
    weighed += value > 0 ? 1 : 0;
    if (value == 0) {
      EXPECT_EQ(how.Find("as")->as_string(), "robustness");
    } else {
      EXPECT_THAT(
          value,
          DoubleNear(how.Find("share")->as_double() / how.Find("probability")->as_double(), 1e-12));
    }
  }
  EXPECT_EQ(weighed, 20U);
  EXPECT_THAT(weight, DoubleNear(1, 1e-9));
  EXPECT_EQ(suite.Dump(), BuildSuite(aggregate, operators, options)->Dump());
  options.select.seed = 2;
  EXPECT_NE(suite.Dump(), BuildSuite(aggregate, operators, options)->Dump());
  const TempDir folder = TempDir::Make("suite").value();
  ASSERT_THAT(WriteFile(folder.path() / "mined.json", suite.Dump(1)), IsOk());
  EXPECT_THAT(LoadWeightedSuite(folder.path() / "mined.json", {}), IsOk());
}

// What a cell records beside sizes: a card in its element types is another card, a type that a
// shape chooses is an axis, and several products in one call are none of a card that has one.
TEST(FromAggregate, FindsTheCardOfTheElementTypes) {
  AggregateCell norm{.op = "fused_qk_rmsnorm",
                     .axes = {{"tokens", int64_t{32}},
                              {"heads", int64_t{32}},
                              {"kv_heads", int64_t{4}},
                              {"head_size", int64_t{128}}},
                     .dtypes = {{"hidden_states", "bf16"}},
                     .phase = Phase::kDecode,
                     .calls = 1,
                     .launches = 1,
                     .sum_ns = 400,
                     .exposed_ns = 400};
  AggregateCell rope{.op = "fused_qkv_rope",
                     .axes = {{"tokens", int64_t{32}},
                              {"query_heads", int64_t{32}},
                              {"kv_heads", int64_t{4}},
                              {"head_size", int64_t{128}}},
                     .dtypes = {{"qkv", "f16"}},
                     .phase = Phase::kDecode,
                     .calls = 1,
                     .launches = 1,
                     .sum_ns = 300,
                     .exposed_ns = 300};
  AggregateCell product{.op = "gemm",
                        .axes = {{"m", int64_t{32}}, {"n", int64_t{64}}, {"k", int64_t{64}}},
                        .dtypes = {{"x", "bf16"}},
                        .calls = 1,
                        .launches = 1,
                        .sum_ns = 200,
                        .exposed_ns = 200};
  AggregateCell batch = product;
  batch.axes["batch"] = int64_t{8};
  AggregateCell fp8 = product;
  fp8.dtypes = {{"x", "f8_e4m3fn"}};
  fp8.sum_ns = fp8.exposed_ns = 100;
  AggregateCell quant{
      .op = "per_token_group_quant_fp8",
      .axes = {{"tokens", int64_t{32}}, {"hidden", int64_t{256}}, {"group", int64_t{128}}},
      .dtypes = {{"x", "bf16"}, {"quantized", "f8_e4m3fnuz"}},
      .calls = 1,
      .launches = 1,
      .sum_ns = 50,
      .exposed_ns = 50};
  const Json suite = Build(AggregateOf({ProfileOf("a", {norm, rope, product, batch, fp8, quant})}));
  std::map<std::string, const Json*> workloads;
  for (const Json& workload : suite.Find("workloads")->array()) {
    workloads[*workload.String("operator")] = &workload;
  }
  ASSERT_EQ(workloads.size(), 4U);
  EXPECT_TRUE(workloads.contains("per_token_group_quant_fp8_fnuz"));
  EXPECT_TRUE(workloads.contains("fused_qk_rmsnorm_bf16"));
  EXPECT_EQ(workloads.at("fused_qkv_rope")->Find("axes")->Find("half_type")->as_int(), 1);
  EXPECT_DOUBLE_EQ(workloads.at("gemm")->Find("selection")->Find("share")->as_double(),
                   200.0 / 1250);
  for (const Json& row : suite.Find("operators")->array()) {
    if (*row.String("operator") != "gemm") continue;
    EXPECT_NE(row.Find("outside")->Find("a batch of what the card has"), nullptr);
    EXPECT_NE(row.Find("outside")->Find("other element types"), nullptr);
  }
}

TEST(FromAggregate, WritesASuiteThatLoads) {
  const Aggregate aggregate = AggregateOf(
      {ProfileOf("a", {Norm(32, 300), Norm(999, 100, "bf16", Phase::kPrefill)}, "chat", 2),
       ProfileOf("b", {Norm(32, 100), Other("gemm", 300)}, "code", 2)});
  const TempDir folder = TempDir::Make("suite").value();
  const fs::path path = folder.path() / "mined.json";
  ASSERT_THAT(WriteFile(path, Build(aggregate).Dump(1)), IsOk());
  const auto suite = LoadWeightedSuite(path, {});
  ASSERT_THAT(suite, IsOk());
  ASSERT_EQ(suite->workloads.size(), 2U);
  const Workload& decode = suite->workloads[0];
  EXPECT_EQ(decode.op->name, "rms_norm");
  EXPECT_EQ(decode.shape.tier, Tier::kMined);
  EXPECT_EQ(decode.shape.phase, Phase::kDecode);
  EXPECT_EQ(decode.weight.label, WeightLabel::kMined);
  EXPECT_THAT(decode.weight.value, DoubleNear(0.5 * 0.75 + 0.5 * 0.25, 1e-12));
  EXPECT_DOUBLE_EQ(decode.deployed_ns, 20);
  EXPECT_DOUBLE_EQ(decode.deployed_by_device.at("NVIDIA H200"), 20);
  EXPECT_GT(decode.traffic.Total(), 0);
  // Other tiers only when asked for, and then without weight.
  const auto published =
      LoadWeightedSuite(path, {.operators = {"rms_norm"}, .tiers = {Tier::kPublished}});
  ASSERT_THAT(published, IsOk());
  ASSERT_FALSE(published->workloads.empty());
  EXPECT_EQ(published->workloads[0].weight.value, 0);
}

TEST(FromAggregate, RefusesOtherDocuments) {
  EXPECT_THAT(BuildSuite(Aggregate{}, {}), HasError(ErrorKind::kInput, "no GPU time"));
  const TempDir folder = TempDir::Make("suite").value();
  const fs::path path = folder.path() / "mined.json";
  ASSERT_THAT(WriteFile(path, "{\"format\": \"x\"}"), IsOk());
  EXPECT_THAT(LoadWeightedSuite(path, {}), HasError(ErrorKind::kInput, "format 'x'"));
  ASSERT_THAT(WriteFile(path, R"({"format": "roofmark-suite/1", "workloads": [
      {"operator": "rms_norm", "shape": "m-1", "phase": "decode",
       "axes": {"tokens": 1, "hidden": 2}, "weight": {"value": 0.5, "low": 0.6, "high": 0.7},
       "deployed_ns": 1}]})"),
              IsOk());
  EXPECT_THAT(LoadWeightedSuite(path, {}), HasError(ErrorKind::kInput, "workload 1"));
}

}  // namespace
}  // namespace roofmark::suite
