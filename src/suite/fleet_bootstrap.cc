// SPDX-License-Identifier: Apache-2.0
// Draws over aggregates, not over traces: a draw costs one pass over the profiles' rows.
#include "suite/fleet_bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/hash.h"
#include "base/stats.h"

namespace roofmark::suite {
namespace {

using RowTimes = std::vector<std::pair<uint32_t, double>>;  // row, exposed ns

class Resampler {
 public:
  Resampler(const FleetWeights& weights, std::span<const size_t> row_of_cell, size_t rows,
            const BootstrapOptions& options)
      : weights_(weights), options_(options), random_(options.seed), sums_(rows) {
    times_.resize(weights.sampled.size());
    for (size_t cell = 0; cell < weights.cells.size(); ++cell) {
      if (row_of_cell[cell] == SIZE_MAX) continue;
      for (const auto& [profile, time] : weights.cells[cell].times) {
        times_[profile].emplace_back(static_cast<uint32_t>(row_of_cell[cell]), time);
      }
    }
    groups_of_.resize(weights.applications.size());
    for (const FleetGroup& group : weights.groups) groups_of_[group.application].push_back(&group);
  }

  // The shares of one draw.
  std::vector<double> Draw() {
    std::vector<double> shares(sums_.size());
    double total = 0;
    const size_t all = groups_of_.size();
    const size_t draws = options_.applications ? std::max<size_t>(all - 1, 1) : all;
    for (size_t i = 0; i < draws; ++i) {
      const size_t application = options_.applications ? random_.Below(all) : i;
      for (const FleetGroup* group : groups_of_[application]) {
        AddGroup(*group, shares);
        total += group->weight;
      }
    }
    for (double& share : shares) share = total > 0 ? share / total : 0;
    return shares;
  }

 private:
  void AddGroup(const FleetGroup& group, std::vector<double>& shares) {
    std::ranges::fill(sums_, 0.0);
    double busy = 0;
    const size_t all = group.profiles.size();
    const auto ranks =
        static_cast<size_t>(std::max<int64_t>(1, weights_.sampled[group.profiles.front()].ranks));
    const size_t runs = (all + ranks - 1) / ranks;
    for (size_t draw = 0; draw < std::max<size_t>(runs - 1, 1); ++draw) {
      const uint32_t profile = group.profiles[random_.Below(all)];
      busy += weights_.sampled[profile].busy_ns;
      for (const auto& [row, time] : times_[profile]) sums_[row] += time;
    }
    for (size_t row = 0; row < shares.size(); ++row) {
      shares[row] += group.weight * sums_[row] / busy;
    }
  }

  const FleetWeights& weights_;
  BootstrapOptions options_;
  Random random_;
  std::vector<RowTimes> times_;
  std::vector<std::vector<const FleetGroup*>> groups_of_;
  std::vector<double> sums_;
};

// ranks[row], the largest share first; equal shares in the order of rows.
std::vector<size_t> RanksOf(const std::vector<double>& shares) {
  std::vector<size_t> order(shares.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t row) { return shares[row]; });
  std::vector<size_t> ranks(shares.size());
  for (size_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank + 1;
  return ranks;
}

double Deviation(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / count);
}

}  // namespace

std::vector<BootstrapRow> BootstrapShares(const FleetWeights& weights,
                                          std::span<const size_t> row_of_cell, size_t rows,
                                          const BootstrapOptions& options) {
  std::vector<BootstrapRow> result(rows);
  if (weights.groups.empty() || rows == 0 || options.draws == 0) return result;
  std::vector<double> estimate(rows);
  for (size_t cell = 0; cell < weights.cells.size(); ++cell) {
    if (row_of_cell[cell] != SIZE_MAX) {
      estimate[row_of_cell[cell]] += weights.cells[cell].share.value;
    }
  }
  const std::vector<size_t> rank_of = RanksOf(estimate);
  std::vector<std::vector<double>> shares(rows);
  std::vector<std::vector<double>> ranks(rows);
  Resampler resampler(weights, row_of_cell, rows, options);
  for (size_t draw = 0; draw < options.draws; ++draw) {
    const std::vector<double> drawn = resampler.Draw();
    const std::vector<size_t> drawn_ranks = RanksOf(drawn);
    for (size_t row = 0; row < rows; ++row) {
      shares[row].push_back(drawn[row]);
      ranks[row].push_back(static_cast<double>(drawn_ranks[row]));
      if (drawn_ranks[row] == rank_of[row]) result[row].keeps_rank += 1;
    }
  }
  for (size_t row = 0; row < rows; ++row) {
    result[row].error = Deviation(shares[row]);
    result[row].rank_low = static_cast<size_t>(Quantile(ranks[row], 0.025));
    result[row].rank_high = static_cast<size_t>(Quantile(ranks[row], 0.975));
    result[row].keeps_rank /= static_cast<double>(options.draws);
  }
  return result;
}

}  // namespace roofmark::suite
