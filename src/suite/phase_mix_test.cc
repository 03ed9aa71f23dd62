// SPDX-License-Identifier: Apache-2.0
#include "suite/phase_mix.h"

#include <cmath>
#include <numeric>

#include "base/files.h"
#include "base/testing.h"
#include "model/aggregate_for_tests.h"
#include "suite/from_aggregate.h"
#include "suite/recorded_shares.h"

namespace roofmark::suite {
namespace {

AggregateCell CellOf(std::string op, Phase phase, int64_t ns) {
  return {.op = std::move(op),
          .axes = {{"tokens", int64_t{8}}, {"hidden", int64_t{64}}},
          .phase = phase,
          .calls = 1,
          .launches = 1,
          .sum_ns = ns,
          .exposed_ns = ns};
}

ProfileAggregate ProfileOf(std::string hash, std::string application, double hours,
                           std::vector<AggregateCell> cells) {
  ProfileAggregate profile{.hash = std::move(hash), .application = std::move(application)};
  profile.card_ms = std::llround(hours * 3.6e6);
  profile.group = profile.application;
  return WithCells(std::move(profile), std::move(cells));
}

// Two applications, two profiles of each; `decode` multiplies the time of decode.
Aggregate Fleet(int64_t decode = 1) {
  const auto profile = [decode](const char* hash, const char* application, double hours,
                                int64_t prefill, int64_t norm, int64_t product) {
    return ProfileOf(
        hash, application, hours,
        {CellOf("rms_norm", Phase::kPrefill, prefill),
         CellOf("rms_norm", Phase::kDecode, decode * norm),
         CellOf("gemm", Phase::kDecode, decode * product), CellOf("gemm", Phase::kUnknown, 100)});
  };
  return AggregateOf(
      {profile("a", "chat", 3, 400, 200, 300), profile("b", "chat", 3, 380, 250, 270),
       profile("c", "code", 1, 100, 100, 700), profile("d", "code", 1, 120, 90, 690)});
}

std::map<Phase, double> PhasesOf(const FleetWeights& weights) {
  std::map<Phase, double> phases;
  for (const FleetCell& cell : weights.cells) phases[cell.sums.phase] += cell.share.value;
  return phases;
}

double ShareOf(const FleetWeights& weights, std::string_view op, Phase phase) {
  for (const FleetCell& cell : weights.cells) {
    if (cell.sums.op == op && cell.sums.phase == phase) return cell.share.value;
  }
  return 0;
}

TEST(PhaseMix, GivesPhasesWhatIsAskedAndKeepsWhatIsDoneInThem) {
  FleetWeights weights = WeighAggregate(Fleet());
  const FleetWeights before = weights;
  const std::map<Phase, double> mined = PhasesOf(before);
  const auto reweighed = ReweighPhases({{Phase::kPrefill, 0.75}, {Phase::kDecode, 0.25}}, weights);
  ASSERT_THAT(reweighed, IsOk());
  const double together = mined.at(Phase::kPrefill) + mined.at(Phase::kDecode);
  std::map<Phase, double> phases = PhasesOf(weights);
  EXPECT_NEAR(phases[Phase::kPrefill], 0.75 * together, 1e-12);
  EXPECT_NEAR(phases[Phase::kDecode], 0.25 * together, 1e-12);
  EXPECT_NEAR(phases[Phase::kUnknown], mined.at(Phase::kUnknown), 1e-12);
  EXPECT_NEAR(ShareOf(weights, "rms_norm", Phase::kDecode) / phases[Phase::kDecode],
              ShareOf(before, "rms_norm", Phase::kDecode) / mined.at(Phase::kDecode), 1e-12);
  ASSERT_EQ(reweighed->size(), 2U);
  EXPECT_NEAR((*reweighed)[0].mined, mined.at(Phase::kPrefill), 1e-12);
  EXPECT_NEAR(std::accumulate(weights.units.begin(), weights.units.end(), 0.0), 1, 1e-12);
  EXPECT_NEAR(weights.applications[0].weight + weights.applications[1].weight, 1, 1e-12);
  for (size_t i = 1; i < weights.cells.size(); ++i) {
    EXPECT_GE(weights.cells[i - 1].share.value, weights.cells[i].share.value);
  }
}

// The mix that was mined is no change at all, intervals included.
TEST(PhaseMix, ChangesNothingWhereTheMixIsTheMinedOne) {
  FleetWeights weights = WeighAggregate(Fleet());
  const FleetWeights before = weights;
  const std::map<Phase, double> mined = PhasesOf(before);
  const double prefill =
      mined.at(Phase::kPrefill) / (mined.at(Phase::kPrefill) + mined.at(Phase::kDecode));
  ASSERT_THAT(ReweighPhases({{Phase::kPrefill, prefill}, {Phase::kDecode, 1 - prefill}}, weights),
              IsOk());
  for (size_t i = 0; i < weights.cells.size(); ++i) {
    EXPECT_NEAR(weights.cells[i].share.value, before.cells[i].share.value, 1e-12);
    EXPECT_NEAR(weights.cells[i].share.low, before.cells[i].share.low, 1e-9);
    EXPECT_NEAR(weights.cells[i].share.high, before.cells[i].share.high, 1e-9);
  }
}

// Within an application it is the same as if its decode had run twice as long.
TEST(PhaseMix, IsThatOfProfilesWithMoreOfThePhase) {
  const auto one = [](const Aggregate& fleet) {
    Aggregate chat;
    for (const auto& [hash, profile] : fleet.profiles()) {
      if (profile.application == "chat") chat.Add(profile);
    }
    return WeighAggregate(chat);
  };
  const FleetWeights twice = one(Fleet(2));
  const std::map<Phase, double> phases = PhasesOf(twice);
  FleetWeights weights = one(Fleet());
  ASSERT_THAT(ReweighPhases({{Phase::kPrefill, phases.at(Phase::kPrefill)},
                             {Phase::kDecode, phases.at(Phase::kDecode)},
                             {Phase::kUnknown, phases.at(Phase::kUnknown)}},
                            weights),
              IsOk());
  const std::vector<size_t> rows = {0, 1, 2, 3};
  const auto recorded = ShareOfRecordings(weights, rows, 4);
  const auto recorded_twice = ShareOfRecordings(twice, rows, 4);
  ASSERT_TRUE(recorded && recorded_twice);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(weights.cells[i].sums.op, twice.cells[i].sums.op);
    EXPECT_NEAR(weights.cells[i].share.value, twice.cells[i].share.value, 1e-12);
    EXPECT_NEAR(weights.cells[i].share.low, twice.cells[i].share.low, 1e-9);
    EXPECT_NEAR(recorded->rows[i].low, recorded_twice->rows[i].low, 1e-9);
    EXPECT_NEAR(recorded->rows[i].high, recorded_twice->rows[i].high, 1e-9);
  }
}

TEST(PhaseMix, IsInTheSuiteAndInTheProvenanceOfItsWeights) {
  const auto operators = ReadOperators(fs::path(ROOFMARK_SOURCE_DIR) / "operators").value();
  const Json suite =
      BuildSuite(Fleet(), operators, {.phase_mix = {{Phase::kPrefill, 0.9}, {Phase::kDecode, 0.1}}})
          .value();
  ASSERT_NE(suite.Find("phase_mix"), nullptr);
  EXPECT_EQ(*suite.Find("phase_mix")->array()[0].String("phase"), "prefill");
  double all = 0;
  for (const Json& row : suite.Find("operators")->array()) {
    all += row.Find("share")->Find("value")->as_double();
  }
  EXPECT_NEAR(all, 1, 1e-12);
  const TempDir folder = TempDir::Make("mix").value();
  const fs::path path = folder.path() / "suite.json";
  ASSERT_THAT(WriteFile(path, suite.Dump()), IsOk());
  const auto loaded = LoadWeightedSuite(path, {});
  ASSERT_THAT(loaded, IsOk());
  EXPECT_THAT(loaded->workloads[0].weight.provenance, testing::HasSubstr("phases reweighed"));
}

TEST(PhaseMix, IsReadAsAPersonWritesIt) {
  const auto mix = ParsePhaseMix("prefill=0.3, decode = 0.7");
  ASSERT_THAT(mix, IsOk());
  EXPECT_EQ(*mix, (PhaseMix{{Phase::kPrefill, 0.3}, {Phase::kDecode, 0.7}}));
  EXPECT_THAT(ParsePhaseMix("prefill"), HasError(ErrorKind::kUsage, "prefill=0.3,decode=0.7"));
  EXPECT_THAT(ParsePhaseMix("prefill=1"), HasError(ErrorKind::kUsage, "two phases"));
  EXPECT_THAT(ParsePhaseMix("prefill=0.25,decode=0.55"),
              HasError(ErrorKind::kUsage, "add up to 0.8"));
  EXPECT_THAT(ParsePhaseMix("prefill=0,decode=1"), HasError(ErrorKind::kUsage, "over 0"));
  EXPECT_THAT(ParsePhaseMix("prefill=nan,decode=1"), HasError(ErrorKind::kUsage, "over 0"));
  EXPECT_THAT(ParsePhaseMix("warm=0.3,decode=0.7"), HasError(ErrorKind::kUsage, "warm"));
  EXPECT_THAT(ParsePhaseMix("decode=0.3,decode=0.7"), HasError(ErrorKind::kUsage, "twice"));
}

TEST(PhaseMix, AsksForPhasesThatWereRecorded) {
  FleetWeights weights = WeighAggregate(Fleet());
  EXPECT_THAT(ReweighPhases({{Phase::kMixed, 0.5}, {Phase::kDecode, 0.5}}, weights),
              HasError(ErrorKind::kInput, "no time in phase mixed"));
}

}  // namespace
}  // namespace roofmark::suite
