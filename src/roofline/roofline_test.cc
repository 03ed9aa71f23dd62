// SPDX-License-Identifier: Apache-2.0
#include "roofline/roofline.h"

#include "base/testing.h"

namespace roofmark::roofline {
namespace {

size_t At(Engine engine) {
  return static_cast<size_t>(engine);
}

DeviceCard Card() {
  DeviceCard card{.name = "T", .kind = "cuda"};
  card.datasheet.present = true;
  card.datasheet.ops_per_s[At(Engine::kTensorBF16)] = 100e12;
  card.datasheet.ops_per_s[At(Engine::kVectorF32)] = 10e12;
  card.datasheet.memory_bytes_per_s = 1e12;
  return card;
}

class Roofline : public testing::Test {
 protected:
  Operator op_{.name = "op"};
  Workload workload_{.op = &op_, .shape = {.id = "1", .phase = Phase::kDecode}};
  DeviceCard card_ = Card();
};

TEST_F(Roofline, TakesTheLongestTermAndNeverTheSum) {
  workload_.work[At(Engine::kTensorBF16)] = 1e9;                // 10 us
  workload_.work[At(Engine::kVectorF32)] = 1e8;                 // 10 us
  workload_.traffic = {.read_bytes = 1e7, .write_bytes = 2e6};  // 12 us
  const auto sol = ComputeSol(workload_, card_, CeilingKind::kDatasheet, LaunchFloor::kWithout);
  EXPECT_DOUBLE_EQ(sol.sol_ns, 12000);
  EXPECT_EQ(sol.bound_by, "memory");
  EXPECT_EQ(sol.terms.size(), 3u);
  EXPECT_THAT(sol.notes, testing::IsEmpty());
  workload_.traffic.read_bytes = 0;
  EXPECT_EQ(ComputeSol(workload_, card_, CeilingKind::kDatasheet, LaunchFloor::kWithout).bound_by,
            "tensor_bf16");
}

TEST_F(Roofline, ChargesWorkOfAnAbsentEngineToTheNextBestOneAndSaysSo) {
  workload_.work[At(Engine::kSpecial)] = 1e9;
  workload_.work[At(Engine::kTensorFp8)] = 1e9;
  const auto sol = ComputeSol(workload_, card_, CeilingKind::kDatasheet, LaunchFloor::kWithout);
  EXPECT_EQ(sol.terms[0].ceiling, "datasheet tensor_bf16");
  EXPECT_EQ(sol.terms[1].ceiling, "datasheet vector_f32");
  EXPECT_DOUBLE_EQ(sol.sol_ns, 1e5);
  EXPECT_EQ(sol.bound_by, "special");
  EXPECT_THAT(sol.notes, testing::ElementsAre("tensor_fp8 is charged to datasheet tensor_bf16",
                                              "special is charged to datasheet vector_f32"));
}

TEST_F(Roofline, LeavesOutATermWithoutAnyCeilingAndSaysSo) {
  card_.datasheet.ops_per_s = {};
  workload_.work[At(Engine::kVectorF32)] = 1e12;
  workload_.traffic.read_bytes = 1e6;
  const auto sol = ComputeSol(workload_, card_, CeilingKind::kDatasheet, LaunchFloor::kWith);
  EXPECT_EQ(sol.bound_by, "memory");
  EXPECT_THAT(sol.notes,
              testing::ElementsAre("vector_f32 is left out: the card has no ceiling for it",
                                   "launch is left out: the card has no ceiling for it"));
  card_.datasheet.memory_bytes_per_s = 0;
  const auto none = ComputeSol(workload_, card_, CeilingKind::kDatasheet, LaunchFloor::kWithout);
  EXPECT_EQ(none.sol_ns, 0);
  EXPECT_EQ(none.bound_by, "");
}

TEST_F(Roofline, KeepsTheLaunchFloorOutUnlessAsked) {
  card_.measured.launch_floor_s = 2e-6;
  workload_.traffic.read_bytes = 1e3;
  EXPECT_DOUBLE_EQ(
      ComputeSol(workload_, card_, CeilingKind::kDatasheet, LaunchFloor::kWithout).sol_ns, 1);
  const auto within = ComputeSol(workload_, card_, CeilingKind::kDatasheet, LaunchFloor::kWith);
  EXPECT_DOUBLE_EQ(within.sol_ns, 2000);
  EXPECT_EQ(within.bound_by, "launch");
  EXPECT_THAT(within.notes, testing::ElementsAre("launch is charged to measured launch_floor"));
}

TEST_F(Roofline, PrefersTheChosenCeilingsAndGivesNoTimeWhereTheyAreNotThere) {
  workload_.traffic.read_bytes = 1e6;
  const auto none = ComputeSol(workload_, card_, CeilingKind::kMeasured, LaunchFloor::kWithout);
  EXPECT_EQ(none.sol_ns, 0);
  EXPECT_THAT(none.notes, testing::ElementsAre("T has no measured ceilings"));
  card_.measured.present = true;
  card_.measured.memory_bytes_per_s = 0.5e12;
  EXPECT_DOUBLE_EQ(
      ComputeSol(workload_, card_, CeilingKind::kMeasured, LaunchFloor::kWithout).sol_ns, 2000);
  EXPECT_DOUBLE_EQ(
      ComputeSol(workload_, card_, CeilingKind::kDatasheet, LaunchFloor::kWithout).sol_ns, 1000);
}

TEST_F(Roofline, ReadsWarmInputsFromTheCacheThatHoldsThem) {
  workload_.inputs = {
      {.name = "x", .dtype = DType::kF32, .sizes = {250}, .residency = Residency::kWarm}};
  workload_.traffic = {.read_bytes = 3000, .write_bytes = 1000};
  card_.l2_bytes = 999;
  EXPECT_DOUBLE_EQ(
      ComputeSol(workload_, card_, CeilingKind::kDatasheet, LaunchFloor::kWithout).sol_ns, 4);
  card_.l2_bytes = 1000;
  EXPECT_DOUBLE_EQ(
      ComputeSol(workload_, card_, CeilingKind::kDatasheet, LaunchFloor::kWithout).sol_ns, 3);
}

TEST_F(Roofline, PublishedModeAddsDtypesFromTheReleasedFigures) {
  card_.datasheet.launch_floor_s = 1;
  workload_.shape.published = {.work = {{"bf16", 1e9}, {"fp32", 1e8}},
                               .read_bytes = 1e6,
                               .write_bytes = 1e6,
                               .present = true};
  const auto sol = ComputePublishedSol(workload_, card_);
  ASSERT_THAT(sol, IsOk());
  EXPECT_DOUBLE_EQ(sol->sol_ns, 20000);
  workload_.shape.published.work = {{"int3", 1}};
  EXPECT_THAT(ComputePublishedSol(workload_, card_), HasError(ErrorKind::kInput, "'int3'"));
}

TEST_F(Roofline, PublishedModeOfAnUnreleasedShapeUsesOurFiguresAndSaysSo) {
  workload_.traffic.read_bytes = 1e6;
  const auto sol = ComputePublishedSol(workload_, card_);
  ASSERT_THAT(sol, IsOk());
  EXPECT_DOUBLE_EQ(sol->sol_ns, 1000);
  EXPECT_EQ(sol->notes.size(), 1u);
}

TEST_F(Roofline, RowHasThePromisedKeys) {
  workload_.work[At(Engine::kVectorF32)] = 10;
  workload_.traffic.read_bytes = 5000;
  const auto sol = ComputeSol(workload_, card_, CeilingKind::kDatasheet, LaunchFloor::kWithout);
  EXPECT_EQ(RooflineRow(workload_, card_, CeilingKind::kDatasheet, sol).Dump(),
            R"({"operator": "op", "shape": "1", "phase": "decode", "device": "T", )"
            R"("work": {"vector_f32": 10.0}, "traffic_bytes": 5000.0, "sol_ns": 5.0, )"
            R"("bound_by": "memory", "against": "datasheet", )"
            R"("terms": {"vector_f32": 0.001, "memory": 5.0}, "notes": []})");
}

TEST(Attainment, TurnsTheIntervalAround) {
  EXPECT_EQ(Attainment(10, {.median = 20, .low = 16, .high = 40}),
            (Interval{.median = 0.5, .low = 0.25, .high = 0.625}));
}

}  // namespace
}  // namespace roofmark::roofline
