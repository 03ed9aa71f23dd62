// SPDX-License-Identifier: Apache-2.0
// Shares and their jackknife, unit by unit.
#include "suite/aggregate_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <tuple>

namespace roofmark::suite {
namespace {

constexpr double kMsPerHour = 3.6e6;

struct Unit {
  std::vector<const ProfileAggregate*> profiles;
  std::optional<double> card_ms;
  double weight = 0;  // share of the fleet's card time
  int64_t busy_ns = 0;
};

std::vector<Unit> MakeUnits(const Aggregate& aggregate) {
  std::vector<Unit> units;
  std::map<std::string, Unit> pooled;
  for (const auto& [hash, profile] : aggregate.profiles()) {
    if (profile.busy_ns == 0) continue;
    if (profile.card_ms) {
      units.push_back({.profiles = {&profile}, .card_ms = static_cast<double>(*profile.card_ms)});
    } else {
      pooled[profile.application.empty() ? hash : "app:" + profile.application].profiles.push_back(
          &profile);
    }
  }
  for (auto& [name, unit] : pooled) units.push_back(std::move(unit));
  double stated = 0;
  double count = 0;
  for (const Unit& unit : units) {
    if (!unit.card_ms) continue;
    stated += *unit.card_ms;
    count += 1;
  }
  const double otherwise = stated > 0 ? stated / count : 1;
  double total = 0;
  for (Unit& unit : units) {
    unit.weight = stated > 0 ? unit.card_ms.value_or(otherwise) : 1;
    total += unit.weight;
    for (const ProfileAggregate* profile : unit.profiles) unit.busy_ns += profile->busy_ns;
  }
  for (Unit& unit : units) unit.weight /= total;
  return units;
}

using Key = std::tuple<std::string, Axes, std::map<std::string, std::string>, Phase>;

struct Building {
  FleetCell cell;
  std::map<std::string, std::pair<int64_t, int64_t>> by_device;  // sum_ns, calls
};

void AddCell(const AggregateCell& cell, const ProfileAggregate& profile, const Unit& unit,
             size_t index, Building& into) {
  AggregateCell& sums = into.cell.sums;
  sums.op = cell.op;
  sums.axes = cell.axes;
  sums.dtypes = cell.dtypes;
  sums.phase = cell.phase;
  sums.calls += cell.calls;
  sums.launches += cell.launches;
  sums.sum_ns += cell.sum_ns;
  sums.exposed_ns += cell.exposed_ns;
  for (const auto& [name, use] : cell.kernels) {
    sums.kernels[name].launches += use.launches;
    sums.kernels[name].sum_ns += use.sum_ns;
  }
  into.cell.parts[index] +=
      unit.weight * static_cast<double>(cell.exposed_ns) / static_cast<double>(unit.busy_ns);
  into.by_device[profile.device].first += cell.sum_ns;
  into.by_device[profile.device].second += cell.calls;
  into.cell.profiles.push_back(profile.hash);
}

}  // namespace

double StudentT95(size_t degrees_of_freedom) {
  static constexpr std::array<double, 31> kTable = {
      0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
      2.201, 2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080,
      2.074, 2.069,  2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees_of_freedom < kTable.size()) return kTable[degrees_of_freedom];
  // Within 0.002 of the quantile from 31 on.
  return 1.95996 + 2.4 / static_cast<double>(degrees_of_freedom);
}

Share ShareOfParts(const std::map<size_t, double>& parts, const std::vector<double>& units) {
  Share share;
  for (const auto& [unit, part] : parts) share.value += part;
  share.low = share.high = share.value;
  const size_t n = units.size();
  if (n < 2) return share;
  double sum = 0;
  std::vector<double> without(n);
  for (size_t unit = 0; unit < n; ++unit) {
    const auto found = parts.find(unit);
    const double part = found == parts.end() ? 0 : found->second;
    const double left = 1 - units[unit];
    without[unit] = left > 0 ? (share.value - part) / left : share.value;
    sum += without[unit];
  }
  const double mean = sum / static_cast<double>(n);
  double squares = 0;
  for (const double value : without) squares += (value - mean) * (value - mean);
  const double error = std::sqrt(squares * static_cast<double>(n - 1) / static_cast<double>(n));
  const double reach = StudentT95(n - 1) * error;
  share.low = std::max(0.0, share.value - reach);
  share.high = std::min(1.0, share.value + reach);
  return share;
}

FleetWeights WeighAggregate(const Aggregate& aggregate) {
  const std::vector<Unit> units = MakeUnits(aggregate);
  FleetWeights weights;
  for (const Unit& unit : units) weights.units.push_back(unit.weight);
  std::map<Key, Building> building;
  for (size_t index = 0; index < units.size(); ++index) {
    if (units[index].card_ms) weights.card_hours += *units[index].card_ms / kMsPerHour;
    for (const ProfileAggregate* profile : units[index].profiles) {
      ++weights.profiles;
      for (const AggregateCell& cell : profile->cells) {
        const Key key{cell.op, cell.axes, cell.dtypes, cell.phase};
        AddCell(cell, *profile, units[index], index, building[key]);
      }
    }
  }
  for (auto& [key, entry] : building) {
    entry.cell.share = ShareOfParts(entry.cell.parts, weights.units);
    weights.total += entry.cell.share.value;
    for (const auto& [device, sums] : entry.by_device) {
      if (sums.second == 0) continue;
      entry.cell.deployed_ns[device] =
          static_cast<double>(sums.first) / static_cast<double>(sums.second);
    }
    weights.cells.push_back(std::move(entry.cell));
  }
  std::ranges::stable_sort(weights.cells, std::greater<>(),
                           [](const FleetCell& cell) { return cell.share.value; });
  return weights;
}

}  // namespace roofmark::suite
