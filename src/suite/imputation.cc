// SPDX-License-Identifier: Apache-2.0
#include "suite/imputation.h"

#include <tuple>

namespace roofmark::suite {
namespace {

using Place = std::tuple<std::string, Phase, size_t>;  // operator, phase, application

// Shares of one operator in one phase of one application.
struct Known {
  double shaped = 0;
  std::map<size_t, double> unknown;  // by sampling unit
};

}  // namespace

Imputation ImputeShapes(const FleetWeights& weights, const Cards& cards) {
  std::map<Place, Known> places;
  std::vector<bool> shapeless(weights.cells.size());
  const auto place_of = [&](const FleetCell& cell, uint32_t profile) {
    return Place{cell.sums.op, cell.sums.phase, weights.sampled[profile].application};
  };
  const auto share_of = [&](uint32_t profile, double time) {
    return weights.sampled[profile].share_of_ns * time;
  };
  Imputation imputation;
  for (size_t i = 0; i < weights.cells.size(); ++i) {
    const FleetCell& cell = weights.cells[i];
    const auto card = cards.find(cell.sums.op);
    if (card == cards.end()) continue;
    shapeless[i] = LacksShape(cell.sums, *card->second);
    for (const auto& [profile, time] : cell.times) {
      Known& known = places[place_of(cell, profile)];
      const double share = share_of(profile, time);
      if (!shapeless[i]) {
        known.shaped += share;
        continue;
      }
      known.unknown[weights.units_are_profiles ? profile : weights.sampled[profile].application] +=
          share;
      imputation.unknown[{cell.sums.op, cell.sums.phase}] += share;
      imputation.total += share;
    }
  }
  imputation.parts.resize(weights.cells.size());
  if (imputation.unknown.empty()) return imputation;
  for (size_t i = 0; i < weights.cells.size(); ++i) {
    const FleetCell& cell = weights.cells[i];
    if (shapeless[i] || !imputation.unknown.contains({cell.sums.op, cell.sums.phase})) continue;
    for (const auto& [profile, time] : cell.times) {
      const Known& known = places[place_of(cell, profile)];
      if (!(known.shaped > 0)) continue;
      for (const auto& [unit, share] : known.unknown) {
        const double part = share * share_of(profile, time) / known.shaped;
        imputation.parts[i][unit] += part;
        imputation.spread += part;
      }
    }
  }
  return imputation;
}

}  // namespace roofmark::suite
