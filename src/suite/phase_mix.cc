// SPDX-License-Identifier: Apache-2.0
#include "suite/phase_mix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/text.h"

namespace roofmark::suite {
namespace {

constexpr double kRounding = 1e-6;  // of a sum of parts that a person wrote

// Everything of the weights that follows from the cells' times.
void WeighAnew(FleetWeights& weights) {
  std::vector<double> busy(weights.sampled.size());
  std::vector<double> units(weights.units.size());
  for (const FleetCell& cell : weights.cells) {
    for (const auto& [profile, time] : cell.times) busy[profile] += time;
    for (const auto& [unit, part] : cell.parts) units[unit] += part;
  }
  weights.units = std::move(units);
  for (FleetApplication& application : weights.applications) application.weight = 0;
  for (FleetGroup& group : weights.groups) {
    group.weight = 0;
    for (const uint32_t profile : group.profiles) {
      group.weight += busy[profile] * weights.sampled[profile].share_of_ns;
    }
    weights.applications[group.application].weight += group.weight;
  }
  for (size_t i = 0; i < busy.size(); ++i) weights.sampled[i].busy_ns = busy[i];
  double squares = 0;
  for (const FleetApplication& application : weights.applications) {
    squares += application.weight * application.weight;
  }
  weights.effective = EffectiveNumber(weights.total, squares);
  for (FleetCell& cell : weights.cells) cell.share = ShareOfParts(cell.parts, weights.units);
  std::ranges::stable_sort(weights.cells, std::greater<>(),
                           [](const FleetCell& cell) { return cell.share.value; });
}

}  // namespace

Result<PhaseMix> ParsePhaseMix(std::string_view text) {
  constexpr std::string_view kLikeThis = "; write it like prefill=0.3,decode=0.7";
  PhaseMix mix;
  double sum = 0;
  for (const std::string_view entry : Split(text, ',')) {
    const size_t equals = entry.find('=');
    const auto part = ParseDouble(Trim(entry.substr(std::min(entry.size(), equals + 1))));
    if (equals == std::string_view::npos || !part || !(*part > 0) || !std::isfinite(*part)) {
      return Fail(ErrorKind::kUsage, fmt::format("'{}' is no phase with a part over 0{}",
                                                 ValidUtf8(entry), kLikeThis));
    }
    const auto phase = ParsePhase(std::string(Trim(entry.substr(0, equals))));
    if (!phase) return Fail(ErrorKind::kUsage, phase.error().message());
    if (!mix.emplace(*phase, *part).second) {
      return Fail(ErrorKind::kUsage, fmt::format("{} is named twice", PhaseName(*phase)));
    }
    sum += *part;
  }
  if (mix.size() < 2) {
    return Fail(ErrorKind::kUsage, fmt::format("a mix names two phases at least{}", kLikeThis));
  }
  if (std::abs(sum - 1) > kRounding) {
    return Fail(ErrorKind::kUsage,
                fmt::format("the parts add up to {:.6g}, not to 1{}", sum, kLikeThis));
  }
  return mix;
}

Result<std::vector<ReweighedPhase>> ReweighPhases(const PhaseMix& mix, FleetWeights& weights) {
  std::map<Phase, double> mined;
  for (const FleetCell& cell : weights.cells) mined[cell.sums.phase] += cell.share.value;
  double together = 0;
  for (const auto& [phase, part] : mix) {
    if (!(mined[phase] > 0)) {
      return Fail(ErrorKind::kInput,
                  fmt::format("the fleet has no time in phase {}, so nothing says what would be "
                              "done in it: mine profiles that have it",
                              PhaseName(phase)));
    }
    together += mined[phase];
  }
  std::vector<ReweighedPhase> reweighed;
  for (const auto& [phase, part] : mix) {
    reweighed.push_back({.phase = phase, .mined = mined[phase], .weighed = part * together});
  }
  for (FleetCell& cell : weights.cells) {
    const auto found = std::ranges::find(reweighed, cell.sums.phase, &ReweighedPhase::phase);
    if (found == reweighed.end()) continue;
    const double factor = found->weighed / found->mined;
    for (auto& [unit, part] : cell.parts) part *= factor;
    for (auto& [profile, time] : cell.times) time *= factor;
  }
  WeighAnew(weights);
  return reweighed;
}

}  // namespace roofmark::suite
