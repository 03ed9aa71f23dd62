// SPDX-License-Identifier: Apache-2.0
// Shares by cell, with their parts by sampling unit.
#include "suite/aggregate_weights.h"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>

namespace roofmark::suite {
namespace {

constexpr double kMsPerHour = 3.6e6;

// A group while its members are collected.
struct Gathered {
  std::string application;
  size_t window = 0;
  std::optional<int64_t> card_ms;
  std::vector<const ProfileAggregate*> profiles;
  int64_t busy_ns = 0;
  double window_ns = 0;  // of all devices
  double weight = 0;     // of its window, not yet normalised
  double Busy() const { return window_ns > 0 ? static_cast<double>(busy_ns) / window_ns : 1; }
};

// By application, window and group, so that an application's groups follow each other.
using Groups = std::map<std::tuple<std::string, size_t, std::string>, Gathered>;

Groups GatherGroups(const std::vector<WeighedWindow>& windows) {
  Groups gathered;
  for (size_t window = 0; window < windows.size(); ++window) {
    const auto later = std::span(windows).subspan(window + 1);
    for (const auto& [hash, profile] : windows[window].aggregate->profiles()) {
      if (profile.busy_ns == 0) continue;
      const bool again = std::ranges::any_of(later, [&hash](const WeighedWindow& other) {
        return other.aggregate->profiles().contains(hash);
      });
      if (again) continue;
      const std::string application = profile.application.empty() ? hash : profile.application;
      // What states no card time is pooled.
      std::string group;
      if (profile.card_ms) group = profile.group.empty() ? hash : profile.group;
      Gathered& into = gathered[{application, window, group}];
      into.application = application;
      into.window = window;
      into.card_ms = profile.card_ms;
      into.profiles.push_back(&profile);
      AddCount(into.busy_ns, profile.busy_ns);
      into.window_ns += static_cast<double>(profile.window_ns) *
                        static_cast<double>(std::max<int64_t>(profile.devices, 1));
    }
  }
  return gathered;
}

// The groups' weights, by the card time of their window; those of a window add up to its own.
void WeighGroups(const std::vector<WeighedWindow>& windows, ShareKind kind, Groups& gathered) {
  for (size_t window = 0; window < windows.size(); ++window) {
    double stated = 0;
    double stating = 0;
    double count = 0;
    for (const auto& [key, group] : gathered) {
      if (group.window != window) continue;
      count += 1;
      if (!group.card_ms) continue;
      stated += static_cast<double>(*group.card_ms);
      stating += 1;
    }
    const double otherwise = stated > 0 ? stated / stating : 1;
    double total = 0;
    for (auto& [key, group] : gathered) {
      if (group.window != window) continue;
      group.weight = stated > 0 && group.card_ms ? static_cast<double>(*group.card_ms) : otherwise;
      if (kind == ShareKind::kBusy) group.weight *= group.Busy();
      total += group.weight;
    }
    for (auto& [key, group] : gathered) {
      if (group.window != window) continue;
      group.weight = windows[window].weight * (total > 0 ? group.weight / total : 1 / count);
    }
  }
}

// Applications, groups and profiles; returns the profiles in the order of `sampled`.
std::vector<const ProfileAggregate*> MakeGroups(const std::vector<WeighedWindow>& windows,
                                                ShareKind kind, FleetWeights& weights) {
  Groups gathered = GatherGroups(windows);
  WeighGroups(windows, kind, gathered);
  std::vector<const ProfileAggregate*> profiles;
  for (const auto& [key, group] : gathered) {
    if (weights.applications.empty() || weights.applications.back().name != group.application) {
      weights.applications.push_back({.name = group.application});
    }
    FleetApplication& application = weights.applications.back();
    const size_t index = weights.applications.size() - 1;
    if (group.card_ms) application.card_hours += static_cast<double>(*group.card_ms) / kMsPerHour;
    application.busy += group.Busy() * static_cast<double>(group.profiles.size());
    application.profiles += group.profiles.size();
    application.weight += group.weight;
    FleetGroup made{.application = index, .weight = group.weight};
    for (const ProfileAggregate* profile : group.profiles) {
      made.profiles.push_back(static_cast<uint32_t>(profiles.size()));
      weights.sampled.push_back({.hash = profile->hash,
                                 .application = index,
                                 .group = weights.groups.size(),
                                 .busy_ns = static_cast<double>(profile->busy_ns),
                                 .ranks = profile->ranks});
      profiles.push_back(profile);
    }
    weights.groups.push_back(std::move(made));
  }
  // A window whose profiles are all in later ones has nothing to weigh.
  double total = 0;
  for (const FleetGroup& group : weights.groups) total += group.weight;
  for (FleetGroup& group : weights.groups) group.weight /= total;
  double squares = 0;
  for (FleetApplication& application : weights.applications) {
    application.weight /= total;
    application.busy /= static_cast<double>(application.profiles);
    weights.card_hours += application.card_hours;
    squares += application.weight * application.weight;
  }
  weights.effective = EffectiveNumber(1, squares);
  return profiles;
}

using Key = std::tuple<std::string, Axes, std::map<std::string, std::string>, Phase, bool>;

struct Building {
  FleetCell cell;
  std::map<std::string, AggregateCell> by_device;  // for the time of a call
};

void AddCell(const AggregateCell& cell, const std::string& device, Building& into) {
  AggregateCell& sums = into.cell.sums;
  sums.op = cell.op;
  sums.axes = cell.axes;
  sums.dtypes = cell.dtypes;
  sums.phase = cell.phase;
  AddCounts(cell, sums);
  AggregateCell& there = into.by_device[device];
  AddCount(there.sum_ns, cell.sum_ns);
  AddCount(there.calls, cell.calls);
  AddCount(there.elsewhere_ns, cell.elsewhere_ns);
  AddCount(there.elsewhere_calls, cell.elsewhere_calls);
}

}  // namespace

FleetWeights WeighAggregate(const Aggregate& aggregate, ShareKind kind) {
  return WeighWindows({{.aggregate = &aggregate}}, kind);
}

FleetWeights WeighWindows(const std::vector<WeighedWindow>& windows, ShareKind kind) {
  FleetWeights weights;
  const std::vector<const ProfileAggregate*> profiles = MakeGroups(windows, kind, weights);
  weights.profiles = profiles.size();
  weights.units_are_profiles = weights.applications.size() == 1;
  std::vector<double> group_busy(weights.groups.size());
  for (const SampledProfile& sampled : weights.sampled) {
    group_busy[sampled.group] += sampled.busy_ns;
  }
  if (!weights.units_are_profiles) {
    for (const FleetApplication& one : weights.applications) weights.units.push_back(one.weight);
  }
  std::map<Key, Building> building;
  for (uint32_t index = 0; index < profiles.size(); ++index) {
    SampledProfile& sampled = weights.sampled[index];
    const size_t unit = weights.units_are_profiles ? index : sampled.application;
    const double scale = weights.groups[sampled.group].weight / group_busy[sampled.group];
    sampled.share_of_ns = scale;
    if (weights.units_are_profiles) {
      weights.units.push_back(scale * sampled.busy_ns);
    }
    for (const AggregateCell& cell : profiles[index]->cells) {
      Building& into = building[{cell.op, cell.axes, cell.dtypes, cell.phase, cell.folded > 0}];
      AddCell(cell, profiles[index]->device, into);
      into.cell.parts[unit] += scale * static_cast<double>(cell.exposed_ns);
      into.cell.times.emplace_back(index, static_cast<double>(cell.exposed_ns));
    }
  }
  for (auto& [key, entry] : building) {
    entry.cell.share = ShareOfParts(entry.cell.parts, weights.units);
    weights.total += entry.cell.share.value;
    for (const auto& [device, sums] : entry.by_device) {
      if (const double ns = sums.DeployedNs(); ns > 0) entry.cell.deployed_ns[device] = ns;
    }
    weights.cells.push_back(std::move(entry.cell));
  }
  std::ranges::stable_sort(weights.cells, std::greater<>(),
                           [](const FleetCell& cell) { return cell.share.value; });
  return weights;
}

}  // namespace roofmark::suite
