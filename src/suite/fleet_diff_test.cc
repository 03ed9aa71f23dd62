// SPDX-License-Identifier: Apache-2.0
#include "suite/fleet_diff.h"

#include <cmath>

#include "base/hash.h"
#include "base/testing.h"

namespace roofmark::suite {
namespace {

AggregateCell Cell(std::string op, int64_t ns) {
  return {.op = std::move(op), .calls = 1, .launches = 1, .sum_ns = ns, .exposed_ns = ns};
}

// Profiles of an application in a window; operator "a" has the share `a` give or take `noise`.
void Add(Aggregate& fleet, const std::string& application, int64_t hours, size_t profiles, double a,
         double noise, uint64_t seed) {
  Random random(seed);
  for (size_t i = 0; i < profiles; ++i) {
    const double here = a + noise * (static_cast<double>(random.Below(2001)) / 1000 - 1);
    const auto ns = static_cast<int64_t>(std::llround(1e6 * here));
    ProfileAggregate profile{.hash = application + std::to_string(seed) + "/" + std::to_string(i),
                             .application = application,
                             .group = application,
                             .card_ms = hours * 3600000};
    profile.busy_ns = profile.sum_ns = 1000000;
    profile.launches = 2;
    profile.cells = {Cell("a", ns), Cell("b", 1000000 - ns)};
    fleet.Add(std::move(profile));
  }
}

TEST(FleetDiff, SaysNothingOfAFleetAgainstItself) {
  Aggregate fleet;
  Add(fleet, "chat", 3, 5, 0.4, 0.1, 1);
  Add(fleet, "code", 1, 5, 0.7, 0.1, 2);
  const FleetDiff diff = DiffFleets(fleet, fleet).value();
  EXPECT_EQ(diff.total_variation, 0);
  EXPECT_EQ(diff.jensen_shannon, 0);
  EXPECT_NEAR(diff.rank_overlap, 1, 1e-12);
  EXPECT_GT(diff.threshold, 0);
  EXPECT_NEAR(diff.p_value, 1, 1e-12);
}

TEST(FleetDiff, SplitsAChangeIntoMixAndWithin) {
  Aggregate before;
  Add(before, "chat", 3, 1, 0.4, 0, 1);
  Add(before, "code", 1, 1, 0.8, 0, 1);
  Aggregate after;
  Add(after, "chat", 1, 1, 0.6, 0, 2);
  Add(after, "code", 1, 1, 0.8, 0, 2);
  const FleetDiff diff = DiffFleets(before, after).value();
  const DiffRow& a = diff.rows[0].op == "a" ? diff.rows[0] : diff.rows[1];
  EXPECT_NEAR(a.before, 0.5, 1e-9);
  EXPECT_NEAR(a.after, 0.7, 1e-9);
  EXPECT_NEAR(a.mix, -0.25 * 0.5 + 0.25 * 0.8, 1e-9);
  EXPECT_NEAR(a.within, 0.625 * 0.2, 1e-9);
  EXPECT_NEAR(a.mix + a.within, a.after - a.before, 1e-12);
  EXPECT_NEAR(diff.total_variation, 0.2, 1e-9);
}

TEST(FleetDiff, CountsNewApplicationsAsMix) {
  Aggregate before;
  Add(before, "chat", 1, 4, 0.4, 0, 1);
  Aggregate after = before;
  Add(after, "code", 1, 4, 0.8, 0, 1);
  const FleetDiff diff = DiffFleets(before, after).value();
  EXPECT_EQ(diff.fresh, std::vector<std::string>{"code"});
  EXPECT_NEAR(diff.within_variation, 0, 1e-12);
  EXPECT_NEAR(diff.mix_variation, 0.2, 1e-9);
}

TEST(FleetDiff, CallsChanceChanceAndChangeChange) {
  int alarms = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Aggregate before;
    Aggregate after;
    for (const uint64_t application : {0U, 1U, 2U}) {
      const std::string name = "app" + std::to_string(application);
      Add(before, name, 1, 12, 0.3 + 0.1 * static_cast<double>(application), 0.1, 10 * seed);
      Add(after, name, 1, 12, 0.3 + 0.1 * static_cast<double>(application), 0.1, 10 * seed + 1);
    }
    const FleetDiff diff = DiffFleets(before, after, {.permutations = 200}).value();
    if (diff.within_variation > diff.threshold) ++alarms;
    Aggregate changed;
    Add(changed, "app0", 1, 12, 0.55, 0.1, 10 * seed + 2);
    EXPECT_LT(DiffFleets(before, changed, {.permutations = 200})->p_value, 0.02);
  }
  EXPECT_LE(alarms, 6);  // 2 of 40 are expected
}

TEST(FleetDiff, KnowsARankingThatTurnedAround) {
  Aggregate before;
  Add(before, "chat", 1, 1, 0.9, 0, 1);
  Aggregate after;
  Add(after, "chat", 1, 1, 0.1, 0, 1);
  EXPECT_LT(DiffFleets(before, after)->rank_overlap, 0.95);
  EXPECT_THAT(DiffFleets(before, Aggregate{}), HasError(ErrorKind::kInput, "new aggregate"));
}

}  // namespace
}  // namespace roofmark::suite
