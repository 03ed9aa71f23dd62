// SPDX-License-Identifier: Apache-2.0
#include "pipeline/against_total.h"

#include <cmath>
#include <vector>

#include "base/testing.h"
#include "gate/paired_blocks.h"

namespace roofmark::pipeline {
namespace {

// Blocks around a ratio, with a spread that is as often up as down.
Against Around(double ratio, double spread, size_t blocks) {
  std::vector<double> logs;
  for (size_t i = 0; i < blocks; ++i) {
    const double step = static_cast<double>(i / 2 + 1) / static_cast<double>(blocks);
    logs.push_back(std::log(ratio) + (i % 2 == 0 ? spread : -spread) * step);
  }
  return gate::Weigh(logs, 0.01, 0.01);
}

TEST(TotalAgainst, OfOneWorkloadIsThatWorkload) {
  const Against one = Around(0.8, 0.01, 16);
  const Against total = TotalAgainst({{{.weight = 0.3, .against = &one}}}, 0.01);
  EXPECT_NEAR(total.ratio->median, one.ratio->median, 1e-9);
  EXPECT_NEAR(total.ratio->low, one.ratio->low, 1e-9);
  EXPECT_NEAR(total.ratio->high, one.ratio->high, 1e-9);
  EXPECT_EQ(total.standing, Standing::kFaster);
}

TEST(TotalAgainst, WeighsRatiosByTheShareOfTime) {
  const Against half = Around(0.5, 0.001, 16);
  const Against twice = Around(2.0, 0.001, 64);
  const std::vector<WeighedComparison> lines = {{.weight = 3, .against = &half},
                                                {.weight = 1, .against = &twice}};
  const Against total = TotalAgainst(lines, 0.01);
  EXPECT_NEAR(total.ratio->median, (3 * 0.5 + 1 * 2.0) / 4, 1e-3);
  EXPECT_EQ(total.standing, Standing::kFaster);
  EXPECT_EQ(total.blocks, 16);
}

TEST(TotalAgainst, IsNoNumberWhereAWeightedWorkloadHasNone) {
  const Against good = Around(0.5, 0.001, 16);
  const Against none{.reason = "x did not pass"};
  std::vector<WeighedComparison> lines = {{.weight = 1, .against = &good},
                                          {.weight = 1, .against = &none}};
  EXPECT_EQ(TotalAgainst(lines, 0.01).standing, Standing::kNone);
  EXPECT_FALSE(TotalAgainst(lines, 0.01).ratio);
  EXPECT_THAT(TotalAgainst(lines, 0.01).reason, testing::HasSubstr("x did not pass"));
  lines[1].weight = 0;
  EXPECT_EQ(TotalAgainst(lines, 0.01).standing, Standing::kFaster);
}

TEST(TotalAgainst, IsUndecidedWhereAWeightedWorkloadIsDoubtful) {
  const Against good = Around(0.5, 0.001, 16);
  Against doubtful = Around(0.5, 0.001, 16);
  doubtful.standing = Standing::kUndecided;
  doubtful.reason = "the machine was disturbed";
  std::vector<WeighedComparison> lines = {{.weight = 1, .against = &good},
                                          {.weight = 1, .against = &doubtful}};
  const Against total = TotalAgainst(lines, 0.01);
  EXPECT_EQ(total.standing, Standing::kUndecided);
  EXPECT_THAT(total.reason, testing::HasSubstr("the machine was disturbed"));
  EXPECT_TRUE(total.ratio);
  EXPECT_FALSE(total.NotSlower());
  EXPECT_FALSE(NotSlowerAnywhere(lines));
  lines[1].weight = 0;
  EXPECT_EQ(TotalAgainst(lines, 0.01).standing, Standing::kFaster);
}

TEST(NotSlowerAnywhere, AsksForEvidenceOnEveryWorkloadThatCounts) {
  const Against faster = Around(0.5, 0.001, 16);
  const Against slower = Around(1.5, 0.001, 16);
  const Against none{.reason = "x did not pass"};
  EXPECT_TRUE(NotSlowerAnywhere({{{.weight = 1, .against = &faster}, {.against = &slower}}}));
  EXPECT_FALSE(NotSlowerAnywhere({{{.against = &faster}, {.against = &slower}}}));
  EXPECT_FALSE(NotSlowerAnywhere({{{.weight = 1, .against = &none}}}));
}

TEST(TotalAgainst, CountsAllAlikeWhereNoneHasAWeight) {
  const Against half = Around(0.5, 0.001, 16);
  const Against same = Around(1.0, 0.001, 16);
  const std::vector<WeighedComparison> lines = {{.against = &half}, {.against = &same}};
  EXPECT_NEAR(TotalAgainst(lines, 0.01).ratio->median, 0.75, 1e-3);
}

}  // namespace
}  // namespace roofmark::pipeline
