// SPDX-License-Identifier: Apache-2.0
#include "suite/recorded_shares.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace roofmark::suite {
namespace {

using RowTimes = std::map<size_t, double>;  // row: exposed ns

std::vector<RowTimes> TimesByProfile(const FleetWeights& weights,
                                     std::span<const size_t> row_of_cell) {
  std::vector<RowTimes> times(weights.sampled.size());
  for (size_t cell = 0; cell < weights.cells.size(); ++cell) {
    if (row_of_cell[cell] == SIZE_MAX) continue;
    for (const auto& [profile, time] : weights.cells[cell].times) {
      times[profile][row_of_cell[cell]] += time;
    }
  }
  return times;
}

double BusyOf(const FleetWeights& weights, const FleetGroup& group) {
  double busy = 0;
  for (const uint32_t profile : group.profiles) {
    busy += weights.sampled[profile].busy_ns;
  }
  return busy;
}

double RunsOf(const FleetWeights& weights, const FleetGroup& group) {
  const auto ranks =
      static_cast<size_t>(std::max<int64_t>(1, weights.sampled[group.profiles.front()].ranks));
  return static_cast<double>((group.profiles.size() + ranks - 1) / ranks);
}

// What the groups say about one row.
struct RowSums {
  double share = 0;
  double squares = 0;          // of the profiles' contributions
  double variance = 0;         // of groups with several runs
  double by_degrees = 0;       // sum of variance^2 / degrees
  double relative = 0;         // sum of degrees * variance of a run in log-odds
  double degrees = 0;          // of what is in `relative`
  double single = 0;           // sum of (h s (1 - s))^2 of groups with one run
  double single_variance = 0;  // what these add to the variance, once it is known
};

// The squared residuals of a group's profiles, by row; `shares` are the group's.
RowTimes Residuals(const FleetWeights& weights, const FleetGroup& group,
                   const std::vector<RowTimes>& times, double busy, const RowTimes& shares) {
  double busy_squares = 0;
  RowTimes squares;
  RowTimes present;  // busy squares of the profiles that hold the row
  for (const uint32_t profile : group.profiles) {
    const double part = weights.sampled[profile].busy_ns / busy;
    busy_squares += part * part;
    for (const auto& [row, time] : times[profile]) {
      const double residual = time / busy - shares.at(row) * part;
      squares[row] += residual * residual;
      present[row] += part * part;
    }
  }
  for (auto& [row, sum] : squares) {
    const double share = shares.at(row);
    sum += share * share * std::max(0.0, busy_squares - present[row]);
  }
  return squares;
}

void AddGroup(const FleetWeights& weights, const FleetGroup& group,
              const std::vector<RowTimes>& times, std::vector<RowSums>& sums) {
  const double busy = BusyOf(weights, group);
  const double runs = RunsOf(weights, group);
  const double copies = static_cast<double>(group.profiles.size()) / runs;
  RowTimes shares;
  for (const uint32_t profile : group.profiles) {
    for (const auto& [row, time] : times[profile]) {
      shares[row] += time / busy;
      const double part = group.weight * time / busy;
      sums[row].squares += copies * part * part;
    }
  }
  const RowTimes residuals = Residuals(weights, group, times, busy, shares);
  for (const auto& [row, share] : shares) {
    RowSums& into = sums[row];
    into.share += group.weight * share;
    const double slope = group.weight * share * (1 - share);  // of the share by its log-odds
    if (runs < 2) {
      into.single += slope * slope;
      continue;
    }
    // n / (n - 1) of the runs; residuals of the copies of a run add up before they are squared.
    const double variance =
        group.weight * group.weight * copies * runs / (runs - 1) * residuals.at(row);
    into.variance += variance;
    into.by_degrees += variance * variance / (runs - 1);
    if (slope > 0) into.relative += (runs - 1) * runs * variance / (slope * slope);
    into.degrees += runs - 1;
  }
}

// The variance of groups with one run, from the others; rows that only such groups hold take the
// mean of all rows.
void AddSingles(std::vector<RowSums>& sums) {
  double relative = 0;
  double degrees = 0;
  for (const RowSums& row : sums) {
    relative += row.relative;
    degrees += row.degrees;
  }
  for (RowSums& row : sums) {
    if (!(row.single > 0)) continue;
    const bool own = row.degrees > 0;
    row.single_variance = row.single * (own           ? row.relative / row.degrees
                                        : degrees > 0 ? relative / degrees
                                                      : 0);
    row.by_degrees += row.single_variance * row.single_variance / std::max(1.0, row.degrees);
    row.variance += row.single_variance;
  }
}

}  // namespace

std::optional<RecordedShares> ShareOfRecordings(const FleetWeights& weights,
                                                std::span<const size_t> row_of_cell, size_t rows) {
  const std::vector<RowTimes> times = TimesByProfile(weights, row_of_cell);
  std::vector<RowSums> sums(rows);
  RecordedShares recorded;
  bool several = false;
  for (const FleetGroup& group : weights.groups) {
    if (RunsOf(weights, group) < 2) {
      recorded.single += group.weight;
    } else {
      several = true;
    }
    AddGroup(weights, group, times, sums);
  }
  if (!several) return std::nullopt;
  AddSingles(sums);
  for (const RowSums& row : sums) {
    const double satterthwaite =
        row.by_degrees > 0 ? row.variance * row.variance / row.by_degrees : 1;
    const double degrees = std::min(satterthwaite, EffectiveNumber(row.share, row.squares));
    recorded.variance += row.variance;
    recorded.rows.push_back(LogOddsInterval(row.share, std::sqrt(row.variance), degrees));
  }
  return recorded;
}

}  // namespace roofmark::suite
