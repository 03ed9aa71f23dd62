// SPDX-License-Identifier: Apache-2.0
#include "suite/suite.h"

#include <set>

#include "base/files.h"
#include "base/testing.h"
#include "suite/card.h"
#include "suite/make_workload.h"

namespace roofmark::suite {
namespace {

const fs::path kOperators = fs::path(ROOFMARK_SOURCE_DIR) / "operators";

Operator Paged() {
  Operator op{.name = "paged"};
  op.axes = {{"q", true}, {"kv", true}, {"heads", false}};
  op.derived = {
      {.name = "pairs", .expression = "L*(M - L) + L*(L + 1)/2", .over = "q", .with = "kv"},
      {.name = "pages", .expression = "ceil_div(L, 16)", .over = "kv"},
      {.name = "spare", .expression = "pages + 4"}};
  op.attributes = {{"eps", 0.5}};
  op.inputs = {{.name = "cache", .dtype = DType::kBF16, .sizes = {"spare", "16", "heads"}}};
  op.outputs = {{.name = "out", .dtype = DType::kF32, .sizes = {"pairs"}}};
  op.work = {{Engine::kTensorBF16, "4*pairs*heads", ""}, {Engine::kSpecial, "pairs*eps", ""}};
  op.read_bytes = "2*pages";
  op.write_bytes = "4*pairs";
  return op;
}

TEST(MakeWorkload, ComputesEverythingThatFollowsFromAShape) {
  const Operator op = Paged();
  const Shape shape{.id = "a",
                    .axes = {{"q", std::vector<int64_t>{2, 1}},
                             {"kv", std::vector<int64_t>{2, 17}},
                             {"heads", int64_t{3}}}};
  const auto workload = MakeWorkload(op, shape);
  ASSERT_THAT(workload, IsOk());
  EXPECT_EQ(std::get<int64_t>(workload->axes.at("pairs")), 3 + 17);
  EXPECT_EQ(workload->inputs[0].sizes, (std::vector<int64_t>{7, 16, 3}));
  EXPECT_EQ(workload->work[static_cast<size_t>(Engine::kTensorBF16)], 240);
  EXPECT_EQ(workload->work[static_cast<size_t>(Engine::kSpecial)], 10);
  EXPECT_EQ(workload->traffic.Total(), 6 + 80);
  EXPECT_EQ(workload->Id(), "paged/a");
}

TEST(MakeWorkload, LetsAShapeOverrideAnAttribute) {
  const Operator op = Paged();
  const Shape shape{.id = "a",
                    .axes = {{"q", std::vector<int64_t>{1}},
                             {"kv", std::vector<int64_t>{4}},
                             {"heads", int64_t{1}},
                             {"eps", 2.0}}};
  EXPECT_EQ(MakeWorkload(op, shape)->work[static_cast<size_t>(Engine::kSpecial)], 8);
}

TEST(MakeWorkload, RefusesListsOfDifferentLengthsAndNegativeAmounts) {
  Operator op = Paged();
  Shape shape{.id = "a",
              .axes = {{"q", std::vector<int64_t>{1, 2}},
                       {"kv", std::vector<int64_t>{4}},
                       {"heads", int64_t{1}}}};
  EXPECT_THAT(MakeWorkload(op, shape),
              HasError(ErrorKind::kInput, "paged/a: [derived] pairs: 'q' has 2 entries"));
  shape.axes["q"] = std::vector<int64_t>{1};
  op.read_bytes = "1 - pairs";
  EXPECT_THAT(MakeWorkload(op, shape), HasError(ErrorKind::kInput, "is negative"));
  op.inputs[0].sizes = {"3000000000", "3000000000"};
  EXPECT_THAT(MakeWorkload(op, shape), HasError(ErrorKind::kInput, "over 2^53 bytes"));
}

// The released figures were computed by other code from other formulas, so equality to the last
// digit shows that the shapes, the lists and the formulas all mean the same here.
TEST(ShippedOperators, ReproduceTheReleasedWorkAndTrafficOfEveryPublishedShape) {
  const auto suite = MakeSuite(*ReadOperators(kOperators), {.tiers = {Tier::kPublished}});
  ASSERT_THAT(suite, IsOk());
  EXPECT_EQ(suite->workloads.size(), 440u);
  for (const Workload& workload : suite->workloads) {
    const auto ours = ComputePublished(workload);
    ASSERT_THAT(ours, IsOk());
    EXPECT_EQ(ours->work, workload.shape.published.work) << workload.Id();
    EXPECT_EQ(ours->read_bytes, workload.shape.published.read_bytes) << workload.Id();
    EXPECT_EQ(ours->write_bytes, workload.shape.published.write_bytes) << workload.Id();
  }
}

TEST(ShippedOperators, ComputeEveryShapeOfEveryTier) {
  const auto suite = MakeSuite(*ReadOperators(kOperators), {});
  ASSERT_THAT(suite, IsOk());
  for (const Workload& workload : suite->workloads) {
    EXPECT_GT(workload.traffic.Total(), 0) << workload.Id();
    // Nobody can move fewer bytes than the outputs have, but for what stays in place.
    double outputs = 0;
    for (const Tensor& tensor : workload.outputs) {
      if (!tensor.in_place) outputs += static_cast<double>(tensor.Bytes());
    }
    EXPECT_GE(workload.traffic.write_bytes, outputs) << workload.Id();
  }
}

TEST(Suite, SelectsByOperatorTierAndId) {
  const auto one = MakeSuite(*ReadOperators(kOperators), {.shapes = {"rms_norm/0"}});
  ASSERT_THAT(one, IsOk());
  ASSERT_EQ(one->workloads.size(), 1u);
  EXPECT_EQ(one->workloads[0].Id(), "rms_norm/0");
  const auto small = MakeSuite(*ReadOperators(kOperators),
                               {.operators = {"silu_and_mul"}, .tiers = {Tier::kSmall}});
  ASSERT_THAT(small, IsOk());
  for (const Workload& workload : small->workloads) EXPECT_EQ(workload.shape.tier, Tier::kSmall);
  EXPECT_FALSE(small->workloads.empty());
}

TEST(Suite, RefusesNamesThatSelectNothing) {
  EXPECT_THAT(MakeSuite(*ReadOperators(kOperators), {.operators = {"rmsnorm"}}),
              HasError(ErrorKind::kNotFound, "there is no operator 'rmsnorm' (known: "));
  EXPECT_THAT(MakeSuite(*ReadOperators(kOperators), {.shapes = {"rms_norm/no"}}),
              HasError(ErrorKind::kNotFound, "'rms_norm/no'"));
  const auto dir = TempDir::Make("roofmark-suite");
  EXPECT_THAT(ReadOperators(dir->path()), HasError(ErrorKind::kNotFound, "ROOFMARK_DATA"));
}

TEST(Suite, SplitsAnOperatorsWeightOverItsTierAndSaysThatItAssumes) {
  const auto suite = MakeSuite(*ReadOperators(kOperators), {.tiers = {Tier::kPublished}});
  ASSERT_THAT(suite, IsOk());
  double total = 0;
  double expected = 0;
  for (const auto& op : suite->operators) {
    if (op->variant_of.empty()) expected += op->weight_published;  // a variant has no such shapes
  }
  for (const Workload& workload : suite->workloads) {
    total += workload.weight.value;
    EXPECT_EQ(workload.weight.label, WeightLabel::kAssumed);
  }
  EXPECT_NEAR(total, expected, 1e-12);
}

TEST(TellingWorkloads, TakesTheLeastTheMedianAndTheMostTraffic) {
  std::vector<Workload> workloads(4);
  workloads[0].traffic.read_bytes = 5;
  workloads[1].traffic.read_bytes = 1;
  workloads[2].traffic.read_bytes = 9;
  workloads[3].traffic.read_bytes = 3;
  EXPECT_THAT(TellingWorkloads(workloads), testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(TellingWorkloads({}), testing::IsEmpty());
}

}  // namespace
}  // namespace roofmark::suite
