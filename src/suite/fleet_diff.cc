// SPDX-License-Identifier: Apache-2.0
#include "suite/fleet_diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/hash.h"
#include "base/stats.h"
#include "suite/aggregate_weights.h"

namespace roofmark::suite {
namespace {

constexpr double kPersistence = 0.9;

using RowKey = std::pair<std::string, Phase>;
using Vector = std::vector<double>;

// A profile's times by row. Its weight makes the ratio of an application's sums the same as
// that of its weighed groups.
struct WeighedProfile {
  std::vector<std::pair<size_t, double>> times;  // weighted ns
  double busy = 0;
};

struct Application {
  double weight = 0;  // of the window's card time
  std::vector<const WeighedProfile*> profiles;
};

struct FleetWindow {
  std::vector<WeighedProfile> profiles;
  std::map<std::string, Application> applications;
};

FleetWindow MakeWindow(const FleetWeights& weights, std::map<RowKey, size_t>& rows) {
  FleetWindow window;
  window.profiles.resize(weights.sampled.size());
  Vector busy(weights.groups.size());
  for (const SampledProfile& profile : weights.sampled) {
    busy[profile.group] += profile.busy_ns;
  }
  for (size_t i = 0; i < weights.sampled.size(); ++i) {
    const SampledProfile& profile = weights.sampled[i];
    const double scale = weights.groups[profile.group].weight / busy[profile.group];
    window.profiles[i].busy = scale * profile.busy_ns;
    Application& application = window.applications[weights.applications[profile.application].name];
    application.weight = weights.applications[profile.application].weight;
    application.profiles.push_back(&window.profiles[i]);
  }
  for (const FleetCell& cell : weights.cells) {
    const size_t row = rows.try_emplace({cell.sums.op, cell.sums.phase}, rows.size()).first->second;
    for (const auto& [profile, time] : cell.times) {
      const SampledProfile& sampled = weights.sampled[profile];
      const double scale = weights.groups[sampled.group].weight / busy[sampled.group];
      window.profiles[profile].times.emplace_back(row, scale * time);
    }
  }
  return window;
}

Vector SharesOf(std::span<const WeighedProfile* const> profiles, size_t rows) {
  Vector shares(rows);
  double busy = 0;
  for (const WeighedProfile* profile : profiles) {
    busy += profile->busy;
    for (const auto& [row, time] : profile->times) shares[row] += time;
  }
  for (double& share : shares) share = busy > 0 ? share / busy : 0;
  return shares;
}

// An application that both windows have, with its profiles one after the other.
struct Common {
  double mean_weight = 0;
  std::vector<const WeighedProfile*> profiles;
  size_t of_before = 0;
};

double HalfOfSum(const Vector& changes) {
  double sum = 0;
  for (const double change : changes) sum += std::abs(change);
  return sum / 2;
}

// Half of the sum of |within|, for the profiles as they are split now.
double WithinVariation(const std::vector<Common>& common, size_t rows) {
  Vector within(rows);
  for (const Common& one : common) {
    const std::span<const WeighedProfile* const> all = one.profiles;
    const Vector before = SharesOf(all.first(one.of_before), rows);
    const Vector after = SharesOf(all.subspan(one.of_before), rows);
    for (size_t row = 0; row < rows; ++row) {
      within[row] += one.mean_weight * (after[row] - before[row]);
    }
  }
  return HalfOfSum(within);
}

void Permute(std::vector<Common> common, size_t rows, const DiffOptions& options, FleetDiff& diff) {
  std::erase_if(common, [](const Common& one) { return one.profiles.size() < 3; });
  if (common.empty()) return;
  Random random(options.seed);
  const double seen = WithinVariation(common, rows);
  Vector permuted;
  size_t as_large = 0;
  for (size_t i = 0; i < options.permutations; ++i) {
    for (Common& one : common) {
      for (size_t j = one.profiles.size(); j > 1; --j) {
        std::swap(one.profiles[j - 1], one.profiles[random.Below(j)]);
      }
    }
    permuted.push_back(WithinVariation(common, rows));
    if (permuted.back() >= seen) ++as_large;
  }
  diff.permutations = permuted.size();
  if (permuted.empty()) return;
  diff.threshold = Quantile(permuted, 0.95);
  diff.p_value = static_cast<double>(as_large + 1) / static_cast<double>(options.permutations + 1);
}

double JensenShannon(const std::vector<DiffRow>& rows) {
  double divergence = 0;
  for (const DiffRow& row : rows) {
    const double middle = (row.before + row.after) / 2;
    for (const double share : {row.before, row.after}) {
      if (share > 0) divergence += share * std::log2(share / middle) / 2;
    }
  }
  return std::max(0.0, divergence);
}

double RankOverlap(const std::vector<DiffRow>& rows) {
  std::map<std::string, std::pair<double, double>> shares;
  for (const DiffRow& row : rows) {
    shares[row.op].first += row.before;
    shares[row.op].second += row.after;
  }
  const auto ranking = [&](auto which) {
    std::vector<std::string> names;
    for (const auto& [name, share] : shares) names.push_back(name);
    std::ranges::stable_sort(names, std::greater<>(),
                             [&](const std::string& name) { return which(shares[name]); });
    return names;
  };
  const auto before = ranking([](const auto& pair) { return pair.first; });
  const auto after = ranking([](const auto& pair) { return pair.second; });
  std::set<std::string> seen_before;
  std::set<std::string> seen_after;
  double overlap = 0;
  double sum = 0;
  double power = 1;
  for (size_t depth = 0; depth < before.size(); ++depth) {
    seen_before.insert(before[depth]);
    seen_after.insert(after[depth]);
    size_t both = 0;
    for (const std::string& name : seen_before) both += seen_after.contains(name) ? 1 : 0;
    overlap = static_cast<double>(both) / static_cast<double>(depth + 1);
    sum += power * overlap;
    power *= kPersistence;
  }
  return (1 - kPersistence) * sum + power * overlap;
}

}  // namespace

Result<FleetDiff> DiffFleets(const Aggregate& before, const Aggregate& after,
                             const DiffOptions& options) {
  const FleetWeights old_weights = WeighAggregate(before);
  const FleetWeights new_weights = WeighAggregate(after);
  if (old_weights.total == 0 || new_weights.total == 0) {
    return Fail(ErrorKind::kInput, old_weights.total == 0 ? "the old aggregate holds no GPU time"
                                                          : "the new aggregate holds no GPU time");
  }
  std::map<RowKey, size_t> keys;
  FleetWindow old_window = MakeWindow(old_weights, keys);
  FleetWindow new_window = MakeWindow(new_weights, keys);
  FleetDiff diff;
  diff.rows.resize(keys.size());
  for (const auto& [key, row] : keys) {
    diff.rows[row].op = key.first;
    diff.rows[row].phase = key.second;
  }
  std::set<std::string> names;
  for (const auto& [name, application] : old_window.applications) names.insert(name);
  for (const auto& [name, application] : new_window.applications) names.insert(name);
  std::vector<Common> common;
  for (const std::string& name : names) {
    const Application& old_one = old_window.applications[name];
    const Application& new_one = new_window.applications[name];
    if (new_one.profiles.empty()) diff.gone.push_back(name);
    if (old_one.profiles.empty()) diff.fresh.push_back(name);
    const Vector old_shares =
        SharesOf(old_one.profiles.empty() ? new_one.profiles : old_one.profiles, keys.size());
    const Vector new_shares =
        SharesOf(new_one.profiles.empty() ? old_one.profiles : new_one.profiles, keys.size());
    const double mean_weight = (old_one.weight + new_one.weight) / 2;
    for (size_t row = 0; row < keys.size(); ++row) {
      DiffRow& into = diff.rows[row];
      into.before += old_one.weight * old_shares[row];
      into.after += new_one.weight * new_shares[row];
      into.mix += (new_one.weight - old_one.weight) * (old_shares[row] + new_shares[row]) / 2;
      into.within += mean_weight * (new_shares[row] - old_shares[row]);
    }
    if (old_one.profiles.empty() || new_one.profiles.empty()) continue;
    Common one{.mean_weight = mean_weight, .profiles = old_one.profiles};
    one.of_before = old_one.profiles.size();
    one.profiles.insert(one.profiles.end(), new_one.profiles.begin(), new_one.profiles.end());
    common.push_back(std::move(one));
  }
  for (const DiffRow& row : diff.rows) {
    diff.total_variation += std::abs(row.after - row.before) / 2;
    diff.mix_variation += std::abs(row.mix) / 2;
    diff.within_variation += std::abs(row.within) / 2;
  }
  diff.jensen_shannon = JensenShannon(diff.rows);
  diff.rank_overlap = RankOverlap(diff.rows);
  Permute(std::move(common), keys.size(), options, diff);
  std::ranges::stable_sort(diff.rows, std::greater<>(),
                           [](const DiffRow& row) { return std::abs(row.after - row.before); });
  return diff;
}

}  // namespace roofmark::suite
