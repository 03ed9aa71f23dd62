// SPDX-License-Identifier: Apache-2.0
#include "cli/fleet_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "suite/recorded_shares.h"

namespace roofmark::cli {
namespace {

struct TableRow {
  std::string op;
  std::map<size_t, double> parts;
  suite::Share share;
  std::optional<suite::Share> recorded;
};

// Largest first; `single` is what recordings cannot tell (suite::RecordedShares).
std::vector<TableRow> RowsOf(const suite::FleetWeights& weights, double& single) {
  std::map<std::string, size_t> index;
  std::vector<TableRow> rows;
  std::vector<size_t> row_of_cell;
  for (const suite::FleetCell& cell : weights.cells) {
    const std::string op = cell.sums.op.empty() ? "unattributed" : cell.sums.op;
    const auto [found, fresh] = index.emplace(op, rows.size());
    if (fresh) rows.push_back({.op = op});
    row_of_cell.push_back(found->second);
    for (const auto& [unit, part] : cell.parts) rows[found->second].parts[unit] += part;
  }
  const auto recorded = suite::ShareOfRecordings(weights, row_of_cell, rows.size());
  single = recorded ? recorded->single : 1;
  for (size_t row = 0; row < rows.size(); ++row) {
    rows[row].share = suite::ShareOfParts(rows[row].parts, weights.units);
    if (recorded) rows[row].recorded = recorded->rows[row];
  }
  std::ranges::stable_sort(rows, std::greater<>(),
                           [](const TableRow& row) { return row.share.value; });
  return rows;
}

}  // namespace

std::string IntervalText(double low, double high) {
  return fmt::format("[{:.2f}, {:.2f}]", 100 * low, 100 * high);
}

void PrintFleet(const Aggregate& aggregate) {
  const suite::FleetWeights weights = suite::WeighAggregate(aggregate);
  double single = 0;
  const std::vector<TableRow> rows = RowsOf(weights, single);
  const bool units = weights.units.size() > 1;
  const bool recorded = single < 1 && !weights.units_are_profiles;
  fmt::print("\n{} profiles{}", weights.profiles,
             weights.card_hours > 0 ? fmt::format(", {:.0f} card-hours", weights.card_hours) : "");
  if (units && !weights.units_are_profiles) {
    fmt::print(", {} applications that weigh like {:.1f} equal ones", weights.applications.size(),
               weights.effective);
  }
  fmt::print("\n  {:30} {:>8}", "share of GPU time", "");
  if (recorded) fmt::print("  {:>16}", "recorded again");
  if (units) {
    fmt::print("  {:>16}", weights.units_are_profiles ? "recorded again" : "fleets like it");
  }
  fmt::print("{}\n", units || recorded ? "   (95 %)" : "");
  for (const TableRow& row : rows) {
    fmt::print("  {:30} {:>6.2f} %", row.op, 100 * row.share.value);
    if (recorded) fmt::print("  {:>16}", IntervalText(row.recorded->low, row.recorded->high));
    if (units) fmt::print("  {:>16}", IntervalText(row.share.low, row.share.high));
    fmt::print("\n");
  }
  if (recorded) fmt::print("{}", kIntervalsExplained);
  if (recorded && single > 0) {
    fmt::print("{:.0f} % of the card time rests on one run of each group: record these twice\n",
               100 * single);
  }
}

}  // namespace roofmark::cli
