// SPDX-License-Identifier: Apache-2.0
// Intervals come back within what they state: shares of fleets whose truth is known.
#include "suite/share_interval.h"

#include <cmath>

#include "base/hash.h"
#include "base/student_t.h"
#include "base/testing.h"
#include "suite/recorded_shares.h"

namespace roofmark::suite {
namespace {

using testing::DoubleNear;

TEST(StudentT, GoesBetweenTheTablesDegrees) {
  EXPECT_DOUBLE_EQ(StudentT95(1), 12.706);
  EXPECT_THAT(StudentT95(30), DoubleNear(2.042, 1e-4));
  EXPECT_THAT(StudentT95(40), DoubleNear(2.021, 0.003));
  EXPECT_THAT(StudentT95(1.5), DoubleNear(7.0, 0.15));  // 7.03
  EXPECT_THAT(StudentT95(1e9), DoubleNear(1.96, 1e-3));
  for (double degrees = 1; degrees < 40; degrees += 0.25) {
    EXPECT_GT(StudentT95(degrees), StudentT95(degrees + 0.25)) << degrees;
  }
}

TEST(LogOddsInterval, StaysBetweenNothingAndAll) {
  for (const double value : {1e-6, 0.01, 0.5, 0.999}) {
    const Share share = LogOddsInterval(value, 0.4, 1);
    EXPECT_GE(share.low, 0);
    EXPECT_LE(share.low, value);
    EXPECT_GE(share.high, value);
    EXPECT_LE(share.high, 1);
  }
  const Share rare = LogOddsInterval(0.01, 0.005, 10);
  EXPECT_GT(rare.low, 0);
  EXPECT_GT(rare.high - 0.01, 0.01 - rare.low);
  EXPECT_EQ(LogOddsInterval(0.3, 0, 5).high, 0.3);
  EXPECT_EQ(LogOddsInterval(0, 0.1, 5).high, 0);
}

TEST(DegreesOfFreedom, CountWhatWeighsAndWhatHoldsTheRow) {
  const std::vector<double> equal(10, 0.1);
  std::map<size_t, double> all;
  for (size_t i = 0; i < 10; ++i) all[i] = 0.01;
  EXPECT_THAT(DegreesOfFreedom(all, equal), DoubleNear(9, 1e-9));
  EXPECT_THAT(DegreesOfFreedom({{3, 0.01}, {4, 0.01}}, equal), DoubleNear(3, 1e-9));
  const std::vector<double> uneven = {0.7, 0.1, 0.1, 0.1};
  EXPECT_THAT(DegreesOfFreedom({{0, 0.1}, {1, 0.1}, {2, 0.1}, {3, 0.1}}, uneven),
              DoubleNear(1 / 0.52 - 1, 1e-9));
}

AggregateCell Cell(std::string op, int64_t ns) {
  return {.op = std::move(op), .calls = 1, .launches = 1, .sum_ns = ns, .exposed_ns = ns};
}

double Uniform(Random& random) {
  return static_cast<double>(random.Below(1000001)) / 1e6;
}

struct World {
  size_t applications = 10;
  size_t profiles = 2;  // of each
  double held = 1;      // share of the applications that have "a" at all
  bool uneven = true;   // card-hours over two orders of magnitude
};

// A fleet of the world. Its applications spend on "a" anything from nothing to half of their time,
// give or take a third in each profile, whose length varies too; "b" is the rest. Returns the
// fleet's own share of "a".
double Draw(const World& world, Random& random, Aggregate& fleet) {
  double truth = 0;
  double hours = 0;
  for (size_t i = 0; i < world.applications; ++i) {
    const bool holds = Uniform(random) < world.held;
    const double mean = holds ? 0.5 * Uniform(random) : 0;
    const double card = world.uneven ? std::exp(4.6 * Uniform(random)) : 1;
    truth += card * mean;
    hours += card;
    for (size_t j = 0; j < world.profiles; ++j) {
      ProfileAggregate profile{.hash = std::to_string(i) + "/" + std::to_string(j),
                               .application = "app" + std::to_string(i),
                               .group = "row" + std::to_string(i)};
      profile.card_ms = std::llround(card * 1e6);
      profile.busy_ns = profile.sum_ns = 1000000 + static_cast<int64_t>(random.Below(1000000));
      profile.launches = 2;
      const double here = mean * (0.667 + 0.666 * Uniform(random));
      const int64_t a = std::llround(static_cast<double>(profile.busy_ns) * here);
      profile.cells = {Cell("a", a), Cell("b", profile.busy_ns - a)};
      fleet.Add(std::move(profile));
    }
  }
  return truth / hours;
}

struct Covered {
  double jackknife = 0;  // of the world's share, by the interval over applications
  double recorded = 0;   // of the fleet's own, by the interval over recordings
};

Covered Coverage(const World& world, uint64_t seed) {
  Random random(seed);
  Covered covered;
  double counted = 0;
  for (int i = 0; i < 400; ++i) {
    Aggregate fleet;
    const double own = Draw(world, random, fleet);
    const FleetWeights weights = WeighAggregate(fleet);
    std::vector<size_t> row_of_cell;
    std::map<size_t, double> parts;
    for (const FleetCell& cell : weights.cells) {
      row_of_cell.push_back(cell.sums.op == "a" ? 0 : 1);
      if (cell.sums.op != "a") continue;
      for (const auto& [unit, part] : cell.parts) parts[unit] += part;
    }
    const Share share = ShareOfParts(parts, weights.units);
    if (!(share.value > 0)) continue;  // never seen: the rule of three speaks for it
    counted += 1;
    const double truth = 0.25 * world.held;
    covered.jackknife += share.low <= truth && truth <= share.high ? 1 : 0;
    const auto recorded = ShareOfRecordings(weights, row_of_cell, 2);
    if (!recorded) continue;
    covered.recorded += recorded->rows[0].low <= own && own <= recorded->rows[0].high ? 1 : 0;
  }
  return {covered.jackknife / counted, covered.recorded / counted};
}

// 400 fleets each: a standard error of 1.1 %.
TEST(FleetIntervals, CoverTheTruthAsOftenAsTheySayHoweverFewTheUnits) {
  for (const World& world :
       {World{.applications = 3}, World{.applications = 5}, World{.applications = 10},
        World{.applications = 20}, World{.applications = 20, .profiles = 3},
        World{.applications = 8, .profiles = 10}, World{.applications = 12, .uneven = false},
        World{.applications = 20, .held = 0.3}, World{.applications = 40, .held = 0.15}}) {
    const Covered covered = Coverage(world, 7);
    const std::string what = std::to_string(world.applications) + " applications of " +
                             std::to_string(world.profiles) + " profiles, held by " +
                             std::to_string(world.held);
    EXPECT_GE(covered.jackknife, 0.92) << what;
    EXPECT_GE(covered.recorded, 0.92) << what;
  }
}

TEST(ShareOfRecordings, KnowsNothingWhereEachGroupWasRecordedOnce) {
  Random random(1);
  Aggregate fleet;
  Draw({.applications = 4, .profiles = 1}, random, fleet);
  const FleetWeights weights = WeighAggregate(fleet);
  EXPECT_FALSE(ShareOfRecordings(weights, std::vector<size_t>(weights.cells.size(), 0), 1));
}

TEST(ShareOfRecordings, LendsAGroupOfOneRunTheVarianceOfTheOthers) {
  Random random(1);
  Aggregate fleet;
  Draw({.applications = 4, .profiles = 6, .uneven = false}, random, fleet);
  const auto width = [](const Aggregate& aggregate, double& single) {
    const FleetWeights weights = WeighAggregate(aggregate);
    std::vector<size_t> rows;
    for (const FleetCell& cell : weights.cells) rows.push_back(cell.sums.op == "a" ? 0 : 1);
    const RecordedShares recorded = ShareOfRecordings(weights, rows, 2).value();
    single = recorded.single;
    return recorded.rows[0].high - recorded.rows[0].low;
  };
  double single = 0;
  const double before = width(fleet, single);
  EXPECT_EQ(single, 0);
  for (const int left : {1, 2, 3, 4, 5}) fleet.Remove("2/" + std::to_string(left));
  const double after = width(fleet, single);
  EXPECT_DOUBLE_EQ(single, 0.25);
  EXPECT_GT(after, 1.2 * before);
  EXPECT_LT(after, 6 * before);
}

TEST(ShareOfRecordings, TakesRanksOfARunForCopies) {
  const auto width = [](int64_t ranks) {
    Aggregate fleet;
    Random random(3);
    for (int run = 0; run < 8; ++run) {
      const int64_t a = 200000 + static_cast<int64_t>(random.Below(200000));
      for (int64_t rank = 0; rank < ranks; ++rank) {
        ProfileAggregate profile{.hash = std::to_string(run) + "/" + std::to_string(rank),
                                 .application = "chat"};
        profile.ranks = ranks;
        profile.busy_ns = profile.sum_ns = 1000000;
        profile.launches = 2;
        profile.cells = {Cell("a", a), Cell("b", 1000000 - a)};
        fleet.Add(std::move(profile));
      }
    }
    const FleetWeights weights = WeighAggregate(fleet);
    std::vector<size_t> rows;
    for (const FleetCell& cell : weights.cells) rows.push_back(cell.sums.op == "a" ? 0 : 1);
    const Share share = ShareOfRecordings(weights, rows, 2)->rows[0];
    return share.high - share.low;
  };
  EXPECT_NEAR(width(8), width(1), 1e-9);
}

}  // namespace
}  // namespace roofmark::suite
