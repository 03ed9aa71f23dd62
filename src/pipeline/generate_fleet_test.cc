// SPDX-License-Identifier: Apache-2.0
// The generated fleet: what is known of it comes back out of its profiles.
#include "pipeline/generate_fleet.h"

#include <map>

#include "base/files.h"
#include "base/testing.h"
#include "pipeline/mine_fleet.h"
#include "suite/aggregate_weights.h"
#include "suite/fleet_diff.h"
#include "suite/recorded_shares.h"

namespace roofmark::pipeline {
namespace {

const fs::path kSource = ROOFMARK_SOURCE_DIR;

Aggregate Mine(const fs::path& folder) {
  const auto rules = trace::Rules::Load(kSource / "rules").value();
  auto fleet = MineFleet({folder / "manifest.csv"}, rules, {});
  EXPECT_THAT(fleet, IsOk());
  return fleet ? std::move(fleet->aggregate) : Aggregate();
}

// How many of a fleet's known rows lie within its intervals.
struct Covered {
  size_t rows = 0;
  size_t recorded = 0;      // of recordings: this fleet, recorded again
  size_t applications = 0;  // over applications: fleets of this kind
};

Covered CountCovered(const FleetPlan& plan) {
  Covered covered;
  const TempDir folder = TempDir::Make("fleet").value();
  const std::vector<KnownShare> known = GenerateFleet(folder.path(), plan).value();
  const Aggregate aggregate = Mine(folder.path());
  EXPECT_EQ(aggregate.profiles().size(), plan.profiles);
  const suite::FleetWeights weights = suite::WeighAggregate(aggregate);
  EXPECT_EQ(weights.applications.size(), plan.applications);
  std::map<std::pair<std::string, Phase>, size_t> rows;
  for (const KnownShare& row : known) rows.try_emplace({row.op, row.phase}, rows.size());
  std::vector<size_t> row_of_cell;
  std::vector<std::map<size_t, double>> parts(rows.size());
  for (const suite::FleetCell& cell : weights.cells) {
    const auto row = rows.find({cell.sums.op, cell.sums.phase});
    EXPECT_NE(row, rows.end()) << cell.sums.op << " " << PhaseName(cell.sums.phase);
    if (row == rows.end()) return covered;
    row_of_cell.push_back(row->second);
    for (const auto& [unit, part] : cell.parts) parts[row->second][unit] += part;
  }
  const auto recorded = suite::ShareOfRecordings(weights, row_of_cell, rows.size());
  EXPECT_TRUE(recorded);
  if (!recorded) return covered;
  const auto holds = [](const suite::Share& share, double truth) {
    return share.low <= truth && truth <= share.high ? 1U : 0U;
  };
  for (const KnownShare& truth : known) {
    const size_t row = rows.at({truth.op, truth.phase});
    ++covered.rows;
    covered.recorded += holds(recorded->rows[row], truth.share);
    covered.applications += holds(suite::ShareOfParts(parts[row], weights.units), truth.share);
  }
  return covered;
}

TEST(GeneratedFleet, GivesItsKnownWeightsBackWithinTheirIntervals) {
  const Covered covered = CountCovered({});
  EXPECT_EQ(covered.rows, 16U);
  EXPECT_EQ(covered.applications, 16U);
  EXPECT_GE(covered.recorded, 14U);  // 15 are expected at 95 %
}

// Percentiles of a bootstrap of two profiles an application held 81 % of them.
TEST(GeneratedFleet, GivesThemBackFromTwoProfilesOfEachApplication) {
  Covered all;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const Covered one = CountCovered({.profiles = 40, .applications = 20, .seed = seed});
    all.rows += one.rows;
    all.recorded += one.recorded;
    all.applications += one.applications;
  }
  EXPECT_EQ(all.rows, 192U);
  EXPECT_GE(all.recorded, 176U);  // 182 are expected at 95 %
  EXPECT_GE(all.applications, 176U);
}

TEST(GeneratedFleet, IsTheSameForTheSameSeed) {
  const TempDir folder = TempDir::Make("fleet").value();
  const FleetPlan plan{.profiles = 8, .applications = 3};
  ASSERT_THAT(GenerateFleet(folder.path() / "a", plan), IsOk());
  ASSERT_THAT(GenerateFleet(folder.path() / "b", plan), IsOk());
  ASSERT_THAT(GenerateFleet(folder.path() / "c", {.profiles = 8, .applications = 3, .seed = 2}),
              IsOk());
  const std::string a = Mine(folder.path() / "a").ToJson().Dump();
  EXPECT_EQ(a, Mine(folder.path() / "b").ToJson().Dump());
  EXPECT_NE(a, Mine(folder.path() / "c").ToJson().Dump());
}

TEST(GeneratedFleet, CanBeRecordedAgain) {
  const TempDir folder = TempDir::Make("fleet").value();
  const FleetPlan plan{.profiles = 60, .applications = 5};
  FleetPlan again = plan;
  again.recording = 1;
  const auto known = GenerateFleet(folder.path() / "a", plan).value();
  const auto known_again = GenerateFleet(folder.path() / "b", again).value();
  for (size_t i = 0; i < known.size(); ++i) EXPECT_EQ(known[i].share, known_again[i].share);
  const Aggregate before = Mine(folder.path() / "a");
  const Aggregate after = Mine(folder.path() / "b");
  EXPECT_NE(before.ToJson().Dump(), after.ToJson().Dump());
  // Another recording is no change, another fleet is one.
  const suite::FleetDiff same = suite::DiffFleets(before, after).value();
  EXPECT_LE(same.within_variation, same.threshold);
  EXPECT_NEAR(same.mix_variation, 0, 1e-9);
  again.seed = 2;
  ASSERT_THAT(GenerateFleet(folder.path() / "c", again), IsOk());
  const suite::FleetDiff other = suite::DiffFleets(before, Mine(folder.path() / "c")).value();
  EXPECT_GT(other.within_variation, other.threshold);
}

TEST(GeneratedFleet, NeedsTwoProfilesForEachApplication) {
  EXPECT_THAT(GenerateFleet("/nowhere", {.profiles = 5, .applications = 3}),
              HasError(ErrorKind::kUsage, "two at least"));
}

}  // namespace
}  // namespace roofmark::pipeline
