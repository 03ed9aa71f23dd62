// SPDX-License-Identifier: Apache-2.0
#include "suite/fleet_bootstrap.h"

#include <cmath>

#include "base/hash.h"
#include "base/testing.h"

namespace roofmark::suite {
namespace {

AggregateCell Cell(std::string op, int64_t ns) {
  return {.op = std::move(op), .calls = 1, .launches = 1, .sum_ns = ns, .exposed_ns = ns};
}

// `applications` of `profiles` each; the share of "a" is 0.3 give or take a uniform `within` and a
// `between`.
Aggregate MakeFleet(size_t applications, size_t profiles, double within, double between,
                    uint64_t seed, int64_t ranks = 0) {
  Random random(seed);
  const auto uniform = [&] { return static_cast<double>(random.Below(2001)) / 1000 - 1; };
  Aggregate aggregate;
  for (size_t i = 0; i < applications; ++i) {
    const double mean = 0.3 + between * uniform();
    for (size_t j = 0; j < profiles; ++j) {
      const auto a = static_cast<int64_t>(1e6 * (mean + within * uniform()));
      ProfileAggregate profile{.hash = std::to_string(seed) + "/" + std::to_string(i * 1000 + j),
                               .application = "app" + std::to_string(i)};
      profile.ranks = ranks;
      profile.busy_ns = profile.sum_ns = 1000000;
      profile.launches = 2;
      profile.cells = {Cell("a", a), Cell("b", 1000000 - a)};
      aggregate.Add(std::move(profile));
    }
  }
  return aggregate;
}

std::vector<BootstrapRow> Rows(const Aggregate& aggregate, const BootstrapOptions& options = {}) {
  const FleetWeights weights = WeighAggregate(aggregate);
  std::vector<size_t> rows;
  for (const FleetCell& cell : weights.cells) rows.push_back(cell.sums.op == "a" ? 0 : 1);
  return BootstrapShares(weights, rows, 2, options);
}

TEST(FleetBootstrap, GivesTheSameForTheSameSeed) {
  const Aggregate fleet = MakeFleet(5, 6, 0.1, 0.1, 1);
  EXPECT_EQ(Rows(fleet)[0].error, Rows(fleet)[0].error);
  EXPECT_NE(Rows(fleet)[0].error, Rows(fleet, {.seed = 2})[0].error);
}

TEST(FleetBootstrap, IsAPointWhereNothingVaries) {
  const BootstrapRow row = Rows(MakeFleet(4, 3, 0, 0, 1))[0];
  EXPECT_NEAR(row.error, 0, 1e-9);
  EXPECT_EQ(row.rank_low, 2U);
  EXPECT_EQ(row.rank_high, 2U);
  EXPECT_EQ(row.keeps_rank, 1);
}

TEST(FleetBootstrap, HasTheErrorOfAFreshFleet) {
  double squares = 0;
  double stated = 0;
  constexpr int kFleets = 60;
  for (uint64_t seed = 1; seed <= kFleets; ++seed) {
    const Aggregate fleet = MakeFleet(15, 4, 0.1, 0.2, seed);
    const double error = Rows(fleet, {.draws = 200})[0].error;
    stated += error * error;
    double share = 0;
    for (const FleetCell& cell : WeighAggregate(fleet).cells) {
      if (cell.sums.op == "a") share += cell.share.value;
    }
    squares += (share - 0.3) * (share - 0.3);
  }
  EXPECT_NEAR(std::sqrt(stated / squares), 1, 0.2);
}

TEST(FleetBootstrap, KnowsTheApplicationsFromTheirProfiles) {
  const Aggregate fleet = MakeFleet(8, 20, 0.02, 0.2, 3);
  const BootstrapRow fleets = Rows(fleet)[0];
  const BootstrapRow samples = Rows(fleet, {.applications = false})[0];
  EXPECT_GT(fleets.error, 5 * samples.error);
}

TEST(FleetBootstrap, TakesRanksOfARunForCopies) {
  const auto width = [](int64_t ranks) {
    return Rows(MakeFleet(3, 32, 0.1, 0, 3, ranks), {.applications = false})[0].error;
  };
  EXPECT_NEAR(width(8) / width(1), std::sqrt(8.0), 0.6);
}

}  // namespace
}  // namespace roofmark::suite
