// SPDX-License-Identifier: Apache-2.0
// The generated fleet: what is known of it comes back out of its profiles.
#include "pipeline/generate_fleet.h"

#include <map>

#include "base/files.h"
#include "base/testing.h"
#include "pipeline/mine_fleet.h"
#include "suite/aggregate_weights.h"
#include "suite/fleet_bootstrap.h"

namespace roofmark::pipeline {
namespace {

const fs::path kSource = ROOFMARK_SOURCE_DIR;

Aggregate Mine(const fs::path& folder) {
  const auto rules = trace::Rules::Load(kSource / "rules").value();
  auto fleet = MineFleet({folder / "manifest.csv"}, rules, {});
  EXPECT_THAT(fleet, IsOk());
  return fleet ? std::move(fleet->aggregate) : Aggregate();
}

TEST(GeneratedFleet, GivesItsKnownWeightsBackWithinTheirIntervals) {
  const TempDir folder = TempDir::Make("fleet").value();
  const std::vector<KnownShare> known = GenerateFleet(folder.path(), {}).value();
  const Aggregate aggregate = Mine(folder.path());
  EXPECT_EQ(aggregate.profiles().size(), 1303U);
  const suite::FleetWeights weights = suite::WeighAggregate(aggregate);
  ASSERT_EQ(weights.applications.size(), 20U);
  std::map<std::pair<std::string, Phase>, size_t> rows;
  for (const KnownShare& row : known) rows.try_emplace({row.op, row.phase}, rows.size());
  std::vector<size_t> row_of_cell;
  std::vector<std::map<size_t, double>> parts(rows.size());
  for (const suite::FleetCell& cell : weights.cells) {
    const auto row = rows.find({cell.sums.op, cell.sums.phase});
    ASSERT_NE(row, rows.end()) << cell.sums.op << " " << PhaseName(cell.sums.phase);
    row_of_cell.push_back(row->second);
    for (const auto& [unit, part] : cell.parts) parts[row->second][unit] += part;
  }
  // Other recordings of these applications would lie within the bootstrap of profiles.
  const auto samples = suite::BootstrapShares(weights, row_of_cell, rows.size(),
                                              {.draws = 400, .applications = false});
  size_t covered = 0;
  for (const KnownShare& truth : known) {
    const size_t row = rows.at({truth.op, truth.phase});
    const suite::Share share = suite::ShareOfParts(parts[row], weights.units);
    EXPECT_NEAR(share.value, truth.share, 0.01) << truth.op;
    EXPECT_LE(share.low, truth.share) << truth.op;
    EXPECT_GE(share.high, truth.share) << truth.op;
    if (samples[row].low <= truth.share && truth.share <= samples[row].high) ++covered;
  }
  // 16 rows at 95 %: 15 are expected.
  EXPECT_EQ(known.size(), 16U);
  EXPECT_GE(covered, 13U);
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

TEST(GeneratedFleet, NeedsTwoProfilesForEachApplication) {
  EXPECT_THAT(GenerateFleet("/nowhere", {.profiles = 5, .applications = 3}),
              HasError(ErrorKind::kUsage, "two at least"));
}

}  // namespace
}  // namespace roofmark::pipeline
