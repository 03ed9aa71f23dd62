// SPDX-License-Identifier: Apache-2.0
#include "score/score.h"

#include <algorithm>
#include <deque>
#include <map>

#include "base/files.h"
#include "base/testing.h"
#include "base/text.h"
#include "roofline/device_file.h"

namespace roofmark::score {
namespace {

// Device: 1 byte a nanosecond, launch floor 100 ns; so SOL time in ns is traffic in bytes, at least
// 100 with the floor.
DeviceCard Card() {
  DeviceCard card{.name = "T"};
  card.datasheet.present = true;
  card.datasheet.memory_bytes_per_s = 1e9;
  card.datasheet.launch_floor_s = 100e-9;
  return card;
}

// Two operators with published weights 0.3 and 0.1:
//   a: shapes 1 (SOL 1000 ns, prefill), 2 (50 ns, decode), 3 (400 ns, decode), weights 0.1 each;
//   b: shape 1 (SOL 600 ns, prefill), weight 0.1.
class Score : public testing::Test {
 protected:
  Score() {
    Add(a_, "1", Phase::kPrefill, 1000);
    Add(a_, "2", Phase::kDecode, 50);
    Add(a_, "3", Phase::kDecode, 400);
    Add(b_, "1", Phase::kPrefill, 600);
  }

  void Add(const Operator& op, const char* id, Phase phase, double bytes) {
    Workload workload{.op = &op, .shape = {.id = id, .phase = phase}};
    workload.weight = {.value = 0.1, .low = 0.1, .high = 0.1};
    workload.traffic.read_bytes = bytes;
    workloads_.push_back(workload);
  }

  static Verdict Passed(const char* op, const char* shape, double time_ns) {
    Verdict verdict{.operator_name = op, .shape = shape, .candidate = "c", .device = "T"};
    verdict.gate = Gate::kPerformance;
    verdict.outcome = Outcome::kPassed;
    verdict.time_ns = Interval{.median = time_ns, .low = time_ns, .high = time_ns};
    verdict.samples_ns = {time_ns};
    verdict.shares = Shares{};
    (*verdict.shares)[static_cast<size_t>(Owner::kOwn)] = 1;
    return verdict;
  }

  static Verdict Failed(const char* op, const char* shape, Gate gate, Outcome outcome) {
    Verdict verdict{.operator_name = op, .shape = shape, .candidate = "c", .device = "T"};
    verdict.gate = gate;
    verdict.outcome = outcome;
    return verdict;
  }

  std::vector<ScoreRow> Compute(const std::vector<Verdict>& verdicts, ScoreOptions options) {
    options.draws = 50;
    const auto rows = ComputeScores(workloads_, verdicts, Card(), options);
    EXPECT_THAT(rows, IsOk());
    return rows.value_or(std::vector<ScoreRow>());
  }

  static ScoreRow Row(const std::vector<ScoreRow>& rows, const char* op,
                      std::optional<Phase> phase = std::nullopt) {
    for (const ScoreRow& row : rows) {
      if (row.op == op && row.phase == phase) return row;
    }
    ADD_FAILURE() << "no row of " << op;
    return {};
  }

  Operator a_{.name = "a", .weight_published = 0.3};
  Operator b_{.name = "b", .weight_published = 0.1};
  std::vector<Workload> workloads_;
};

TEST_F(Score, PublishedIsTheWeightedMeanOfMediansOverCorrectShapes) {
  const auto rows =
      Compute({Passed("a", "1", 2000), Passed("a", "2", 500),
               Failed("a", "3", Gate::kCorrectness, Outcome::kWrongOutput), Passed("b", "1", 2400)},
              {.kind = ScoreKind::kPublished});
  EXPECT_EQ(rows.size(), 3u);
  // S: 0.5, 0.1 (no floor), failed; the median over the two correct ones is 0.3.
  EXPECT_DOUBLE_EQ(Row(rows, "a").s.median, 0.3);
  EXPECT_DOUBLE_EQ(Row(rows, "b").s.median, 0.25);
  EXPECT_DOUBLE_EQ(Row(rows, "all").s.median, (0.3 * 0.3 + 0.1 * 0.25) / 0.4);
  EXPECT_DOUBLE_EQ(Row(rows, "all").weight, 0.4);
  EXPECT_EQ(Row(rows, "a").scored, 2);
}

TEST_F(Score, RoofmarkHasTheFloorInsideAndCountsFailuresAsZero) {
  const auto rows =
      Compute({Passed("a", "1", 2000), Passed("a", "2", 500),
               Failed("a", "3", Gate::kCorrectness, Outcome::kWrongOutput), Passed("b", "1", 2400)},
              {.kind = ScoreKind::kRoofmark});
  // S: 1000/2000, max(50, 100)/500, 0; 600/2400.
  EXPECT_DOUBLE_EQ(Row(rows, "a").s.median, (0.5 + 0.2 + 0) / 3);
  EXPECT_DOUBLE_EQ(Row(rows, "a", Phase::kDecode).s.median, 0.1);
  EXPECT_DOUBLE_EQ(Row(rows, "all").s.median, (0.5 + 0.2 + 0 + 0.25) / 4);
  EXPECT_DOUBLE_EQ(Row(rows, "all", Phase::kPrefill).s.median, (0.5 + 0.25) / 2);
  EXPECT_DOUBLE_EQ(Row(rows, "all", Phase::kDecode).weight, 0.2);
}

TEST_F(Score, CountsWhatWasNotJudgedAgainstTheContestantUnlessOutOfScope) {
  const std::vector<Verdict> one = {Passed("a", "1", 2000)};
  EXPECT_DOUBLE_EQ(Row(Compute(one, {.scope = Scope::kSuite}), "all").s.median, 0.5 / 4);
  EXPECT_DOUBLE_EQ(Row(Compute(one, {.scope = Scope::kAttempted}), "all").s.median, 0.5 / 3);
  EXPECT_DOUBLE_EQ(Row(Compute(one, {.scope = Scope::kJudged}), "all").s.median, 0.5);
}

TEST_F(Score, HoldsAContestantOnlyToTheTiersThatItWasJudgedOn) {
  Add(a_, "s", Phase::kDecode, 300);
  workloads_.back().shape.tier = Tier::kSmall;
  const std::vector<Verdict> verdicts = {Passed("a", "s", 600)};
  EXPECT_DOUBLE_EQ(Row(Compute(verdicts, {}), "all").s.median, 0.5);
  EXPECT_EQ(Row(Compute(verdicts, {}), "all").workloads, 1);
}

TEST_F(Score, PublishedLeavesOtherTiersOutWherePublishedShapesWereJudged) {
  workloads_[0].shape.tier = Tier::kPublished;
  const auto rows =
      Compute({Passed("a", "1", 2000), Passed("a", "2", 500)}, {.kind = ScoreKind::kPublished});
  EXPECT_DOUBLE_EQ(Row(rows, "a").s.median, 0.5);
  EXPECT_EQ(Row(rows, "a").workloads, 1);
}

TEST_F(Score, ReportsPassRatesByGateOverJudgedWorkloads) {
  const auto rows =
      Compute({Passed("a", "1", 2000), Failed("a", "2", Gate::kCompile, Outcome::kCompileError),
               Failed("a", "3", Gate::kPerformance, Outcome::kUnstable),
               Failed("b", "1", Gate::kCorrectness, Outcome::kUnsupported)},
              {});
  const ScoreRow all = Row(rows, "all");
  EXPECT_DOUBLE_EQ(all.pass.compile, 2.0 / 3);
  EXPECT_DOUBLE_EQ(all.pass.correctness, 2.0 / 3);
  EXPECT_DOUBLE_EQ(all.pass.performance, 1.0 / 3);
  EXPECT_EQ(all.judged, 3);
  EXPECT_EQ(all.workloads, 4);
}

TEST_F(Score, TrustsNoTimeOfAnUntrustedVerdictInEitherScore) {
  Verdict fast = Passed("a", "1", 10);
  fast.outcome = Outcome::kFasterThanLight;
  Verdict unstable = Passed("a", "3", 800);
  unstable.outcome = Outcome::kUnstable;
  Verdict fallback = Passed("a", "2", 500);
  fallback.outcome = Outcome::kFallback;
  EXPECT_DOUBLE_EQ(
      Row(Compute({fast, unstable, fallback}, {.kind = ScoreKind::kPublished}), "a").s.median, 0.1);
  EXPECT_DOUBLE_EQ(Row(Compute({fast, unstable, fallback}, {}), "a").s.median, 0);
}

TEST_F(Score, IsNeverAboveOne) {
  const auto published = Compute({Passed("a", "1", 900), Passed("a", "3", 800)},
                                 {.kind = ScoreKind::kPublished, .scope = Scope::kJudged});
  EXPECT_DOUBLE_EQ(Row(published, "a").s.median, 0.5);
  EXPECT_THAT(Row(published, "a").notes,
              testing::ElementsAre("a/1: S = 1.111 is over 1 and left out"));
  const auto roofmark = Compute({Passed("a", "2", 80)}, {.scope = Scope::kJudged});
  EXPECT_DOUBLE_EQ(Row(roofmark, "a").s.median, 1);
  EXPECT_THAT(Row(roofmark, "a").notes,
              testing::ElementsAre("a/2: S = 1.250 is over 1 and capped"));
}

TEST_F(Score, AveragesAdoptionByWeightAndGivesBaselinesNone) {
  Verdict half = Passed("a", "1", 2000);
  half.shares = Shares{0.5, 0, 0.5};
  const auto rows = Compute({half, Passed("b", "1", 2400)}, {});
  EXPECT_DOUBLE_EQ(*Row(rows, "all").adoption, 0.75);
  half.role = Role::kBaseline;
  EXPECT_DOUBLE_EQ(*Row(Compute({half}, {}), "all").adoption, 0);
  EXPECT_FALSE(Row(Compute({Failed("a", "1", Gate::kCompile, Outcome::kCompileError)}, {}), "all")
                   .adoption.has_value());
}

TEST_F(Score, FleetTimeKeepsTheDeployedKernelWhereTheCandidateFails) {
  workloads_[0].deployed_ns = 4000;
  workloads_[1].deployed_ns = 400;
  const auto rows = Compute(
      {Passed("a", "1", 2000), Failed("a", "2", Gate::kCorrectness, Outcome::kCrashed)}, {});
  const ScoreRow row = Row(rows, "a");
  EXPECT_DOUBLE_EQ(row.fleet_time->median, (0.5 + 1) / 2);
  EXPECT_DOUBLE_EQ(row.fleet_coverage, 2.0 / 3);
  EXPECT_FALSE(Row(rows, "a", Phase::kDecode).fleet_time->median < 1);
}

// A fleet of two devices: what another device needed says nothing of this one.
TEST_F(Score, FleetTimeComparesWithWhatIsDeployedOnTheSameDevice) {
  workloads_[0].deployed_ns = 3000;
  workloads_[0].deployed_by_device = {{"Example T", 4000}, {"NVIDIA B200", 2000}};
  workloads_[1].deployed_ns = 400;
  workloads_[1].deployed_by_device = {{"NVIDIA B200", 400}};
  const auto rows = Compute({Passed("a", "1", 2000), Passed("a", "2", 200)}, {});
  const ScoreRow row = Row(rows, "a");
  EXPECT_DOUBLE_EQ(row.fleet_time->median, 0.5);
  EXPECT_DOUBLE_EQ(MinedDeployedNs(workloads_[1], Card()), 0);
  workloads_[1].deployed_by_device[""] = 500;  // of profiles that name no device
  EXPECT_DOUBLE_EQ(MinedDeployedNs(workloads_[1], Card()), 500);
}

TEST_F(Score, IntervalsComeFromTheRawSamplesAndRepeat) {
  Verdict noisy = Passed("a", "1", 2000);
  noisy.samples_ns.clear();
  for (int i = 0; i < 40; ++i) noisy.samples_ns.push_back(1900 + 5 * i);
  const auto rows = Compute({noisy}, {.scope = Scope::kJudged});
  const ScoreRow row = Row(rows, "a");
  EXPECT_LT(row.s.low, row.s.median);
  EXPECT_GT(row.s.high, row.s.median);
  EXPECT_GT(row.s.low, 1000.0 / 2095);
  EXPECT_LT(row.s.high, 1000.0 / 1900);
  EXPECT_EQ(Row(Compute({noisy}, {.scope = Scope::kJudged}), "a").s, row.s);
}

TEST_F(Score, WidensWithTheWeightsOwnIntervals) {
  const std::vector<Verdict> verdicts = {Passed("a", "1", 2000), Passed("b", "1", 2400)};
  EXPECT_EQ(Row(Compute(verdicts, {}), "all").s.low, Row(Compute(verdicts, {}), "all").s.high);
  workloads_[0].weight.high = 0.5;
  EXPECT_LT(Row(Compute(verdicts, {}), "all").s.low, Row(Compute(verdicts, {}), "all").s.high);
}

// Two draws of each of two strata that stand for more, and one that was sure to be drawn.
TEST_F(Score, HoldsWhatOtherDrawsOfTheTailWouldGive) {
  const SuiteDraws draws = {{"a/1", {.probability = 0.1, .stratum = "a"}},
                            {"a/2", {.probability = 0.2, .stratum = "a"}},
                            {"b/1", {.probability = 1, .stratum = "b"}}};
  const std::vector<Verdict> verdicts = {Passed("a", "1", 2000), Passed("a", "2", 1000),
                                         Passed("a", "3", 4000), Passed("b", "1", 1200)};
  const ScoreRow sure = Row(Compute(verdicts, {}), "all");
  EXPECT_EQ(sure.sampling.draws, 0);
  EXPECT_EQ(sure.s.low, sure.s.high);
  const ScoreRow drawn = Row(Compute(verdicts, {.drawn = &draws}), "all");
  EXPECT_EQ(drawn.s.median, sure.s.median);
  EXPECT_EQ(drawn.sampling.draws, 2);
  EXPECT_DOUBLE_EQ(drawn.sampling.drawn, 0.5);
  EXPECT_LT(drawn.s.low, sure.s.low);
  EXPECT_GT(drawn.s.high, sure.s.high);
  EXPECT_GE(drawn.s.low, 0);
  EXPECT_LE(drawn.s.high, 1);
  // An operator without draws is known as well as before; the paper's score asks nothing of draws.
  EXPECT_EQ(Row(Compute(verdicts, {.drawn = &draws}), "b").s, Row(Compute(verdicts, {}), "b").s);
  EXPECT_EQ(Row(Compute(verdicts, {.kind = ScoreKind::kPublished, .drawn = &draws}), "all").s,
            Row(Compute(verdicts, {.kind = ScoreKind::kPublished}), "all").s);
  workloads_[0].deployed_ns = 4000;
  workloads_[1].deployed_ns = 1000;
  const auto fleet = Row(Compute(verdicts, {.drawn = &draws}), "all").fleet_time;
  EXPECT_LT(fleet->low, fleet->median);
  EXPECT_GT(fleet->high, fleet->median);
}

TEST_F(Score, KeepsContestantsApart) {
  Verdict baseline = Passed("a", "1", 1000);
  baseline.candidate = "torch_eager";
  baseline.role = Role::kBaseline;
  const auto rows = Compute({Passed("a", "1", 2000), baseline}, {.scope = Scope::kJudged});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_DOUBLE_EQ(rows[0].s.median, 0.5);
  EXPECT_DOUBLE_EQ(rows[2].s.median, 1);
  EXPECT_EQ(rows[2].role, Role::kBaseline);
}

TEST_F(Score, RefusesWhatCannotBeScoredHonestly) {
  const auto compute = [&](const std::vector<Verdict>& verdicts) {
    return ComputeScores(workloads_, verdicts, Card(), {.draws = 5});
  };
  Verdict other = Passed("b", "1", 2000);
  other.device = "U";
  EXPECT_THAT(compute({Passed("a", "1", 2000), other}),
              HasError(ErrorKind::kInput, "one device at a time"));
  EXPECT_THAT(compute({Passed("a", "1", 2000), Passed("a", "1", 2000)}),
              HasError(ErrorKind::kInput, "two verdicts on a/1"));
  Verdict bare = Passed("a", "1", 2000);
  bare.samples_ns.clear();
  EXPECT_THAT(compute({bare}), HasError(ErrorKind::kInput, "no raw samples"));
  EXPECT_THAT(ComputeScores(workloads_, std::vector<Verdict>{Passed("a", "1", 2000)},
                            DeviceCard{.name = "none"}, {.draws = 5}),
              HasError(ErrorKind::kInput, "has no SOL time on none"));
  for (Workload& workload : workloads_) workload.weight = {};
  EXPECT_THAT(compute({Passed("a", "1", 2000)}), HasError(ErrorKind::kInput, "have no weight"));
}

TEST_F(Score, RowHasThePromisedKeys) {
  const Json json = ScoreRowToJson(Row(Compute({Passed("b", "1", 2400)}, {}), "all"));
  EXPECT_EQ(
      json.Dump(),
      R"({"operator": "all", "phase": null, "candidate": "c", "lane": "cpp", )"
      R"("role": "candidate", "device": "T", "score": "roofmark", "s": 0.25, "low": 0.25, )"
      R"("high": 0.25, "phase_extremes": null, "weight": 0.1, "adoption": 1.0, )"
      R"("pass_rates": {"compile": 1.0, )"
      R"("correctness": 1.0, "performance": 1.0}, "fleet_time": null, "sampling": null, "workloads": 1, )"
      R"("judged": 1, "scored": 1, "notes": []})");
}

// An operator's released shapes with its production latencies as passed verdicts.
struct Production {
  std::vector<Workload> workloads;
  std::vector<Verdict> verdicts;
};

void AddProduction(const Operator& op, Production* production) {
  const fs::path path = fs::path(ROOFMARK_SOURCE_DIR) / "operators" / op.name / "shapes.jsonl";
  const auto lines = ReadJsonLines(path);
  ASSERT_THAT(lines, IsOk());
  for (const Json& line : *lines) {
    const Json* row = line.Find("published");
    if (row == nullptr) continue;
    Workload workload{.op = &op, .shape = {.id = line.Find("id")->as_string()}};
    workload.weight.value = 1;
    Published& published = workload.shape.published;
    published.present = true;
    published.read_bytes = row->Find("q_read")->as_double();
    published.write_bytes = row->Find("q_write")->as_double();
    for (const auto& [dtype, ops] : row->Find("w_flops")->object()) {
      published.work[dtype] = ops.as_double();
    }
    Verdict verdict{.operator_name = op.name,
                    .shape = workload.shape.id,
                    .candidate = "production",
                    .device = "XPU-A"};
    verdict.gate = Gate::kPerformance;
    verdict.outcome = Outcome::kPassed;
    verdict.samples_ns = {row->Find("prod_us")->Find("XPU-A")->as_double() * 1000};
    production->workloads.push_back(std::move(workload));
    production->verdicts.push_back(std::move(verdict));
  }
}

// prod_S_median_XPU-A by operator: computed from the release independently of this code.
std::map<std::string, double> KnownMedians(const fs::path& table_path) {
  std::map<std::string, double> medians;
  const auto table = ReadFile(table_path);
  EXPECT_THAT(table, IsOk());
  const auto lines = Split(*table, '\n');
  const auto header = Split(lines[0], '\t');
  const auto column =
      static_cast<size_t>(std::ranges::find(header, "prod_S_median_XPU-A") - header.begin());
  for (const std::string_view line : lines) {
    const auto cells = Split(line, '\t');
    if (cells.size() <= column || cells[column] == header[column]) continue;
    medians[std::string(cells[0])] = *ParseDouble(cells[column]);
  }
  return medians;
}

TEST_F(Score, SaysWhatAnAssumedSplitOverPhasesIsWorth) {
  const std::vector<Verdict> verdicts = {Passed("a", "1", 2000), Passed("a", "2", 1000),
                                         Passed("a", "3", 4000), Passed("b", "1", 1200)};
  // a: prefill 0.5; decode 0.1 and 0.1 (with the floor of 100 ns). b has one phase, 0.5.
  const auto all = Row(Compute(verdicts, {}), "all");
  ASSERT_TRUE(all.phase_extremes.has_value());
  EXPECT_NEAR(all.phase_extremes->first, (0.3 * 0.1 + 0.1 * 0.5) / 0.4, 1e-12);
  EXPECT_NEAR(all.phase_extremes->second, (0.3 * 0.5 + 0.1 * 0.5) / 0.4, 1e-12);
  for (Workload& workload : workloads_) workload.weight.label = WeightLabel::kMined;
  EXPECT_FALSE(Row(Compute(verdicts, {}), "all").phase_extremes.has_value());
}

TEST(PublishedScoreOfProduction, EqualsTheKnownMediansOfTheFourOperators) {
  const fs::path shared = SharedFolder(ROOFMARK_SOURCE_DIR);
  if (shared.empty()) GTEST_SKIP() << "the released facts are not here (set ROOFMARK_SHARED)";
  const auto cards = roofline::ReadDevices(fs::path(ROOFMARK_SOURCE_DIR) / "devices");
  ASSERT_THAT(cards, IsOk());
  std::deque<Operator> operators;
  Production production;
  for (const char* name : {"rms_norm", "silu_and_mul", "unified_attention", "block_scaled_mm"}) {
    operators.push_back({.name = name, .weight_published = 0.25});
    AddProduction(operators.back(), &production);
  }
  const auto rows = ComputeScores(production.workloads, production.verdicts,
                                  *roofline::FindDevice(*cards, "XPU-A"),
                                  {.kind = ScoreKind::kPublished, .draws = 1});
  ASSERT_THAT(rows, IsOk());
  auto known = KnownMedians(shared / "facts" / "operators.tsv");
  for (const ScoreRow& row : *rows) {
    if (row.op == "all") continue;
    EXPECT_NEAR(row.s.median, known[row.op], 0.00005) << row.op;
  }
  EXPECT_EQ(rows->size(), 5u);
}

}  // namespace
}  // namespace roofmark::score
