// SPDX-License-Identifier: Apache-2.0
#include "agent/pair_statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/check.h"

namespace roofmark::agent {

PairStats ComparePairs(std::span<const double> incumbent, std::span<const double> challenger,
                       double least_effect) {
  CHECK(least_effect >= 0 && least_effect < 1);
  PairStats stats;
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(incumbent.size(), challenger.size()); ++i) {
    CHECK(incumbent[i] > 0 && challenger[i] > 0);
    ratios.push_back(challenger[i] / incumbent[i]);
    const double wanted = (1 - least_effect) * incumbent[i];
    if (challenger[i] < wanted) ++stats.wins;
    if (challenger[i] > wanted) ++stats.losses;
  }
  if (ratios.empty()) return stats;
  stats.ratio = MedianInterval(ratios);
  if (stats.wins > stats.losses) stats.p = SignTestP(stats.wins, stats.losses);
  return stats;
}

double NoiseFloor(const PairStats& same) {
  return std::max(std::abs(same.ratio.low - 1), std::abs(same.ratio.high - 1));
}

double ErrorShare(double error_rate, int64_t test) {
  CHECK(error_rate > 0 && error_rate < 1 && test >= 1);
  const auto k = static_cast<double>(test);
  return error_rate * 6 / (std::numbers::pi * std::numbers::pi * k * k);
}

Json PairStatsToJson(const PairStats& stats) {
  return Json::MakeObject()
      .Set("pairs", stats.pairs())
      .Set("wins", stats.wins)
      .Set("losses", stats.losses)
      .Set("p", stats.p)
      .Set("ratio", Json::MakeObject()
                        .Set("median", stats.ratio.median)
                        .Set("low", stats.ratio.low)
                        .Set("high", stats.ratio.high));
}

Result<PairStats> PairStatsFromJson(const Json& json) {
  const Json& ratio = *TRY(json.ObjectAt("ratio"));
  return PairStats{.wins = TRY(json.Int("wins")),
                   .losses = TRY(json.Int("losses")),
                   .p = TRY(json.Double("p")),
                   .ratio = {.median = TRY(ratio.Double("median")),
                             .low = TRY(ratio.Double("low")),
                             .high = TRY(ratio.Double("high"))}};
}

}  // namespace roofmark::agent
