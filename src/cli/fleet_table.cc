// SPDX-License-Identifier: Apache-2.0
#include "cli/fleet_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "suite/aggregate_weights.h"

namespace roofmark::cli {

void PrintFleet(const Aggregate& aggregate) {
  const suite::FleetWeights weights = suite::WeighAggregate(aggregate);
  std::map<std::string, std::map<size_t, double>> parts;
  for (const suite::FleetCell& cell : weights.cells) {
    for (const auto& [unit, part] : cell.parts) {
      parts[cell.sums.op.empty() ? "unattributed" : cell.sums.op][unit] += part;
    }
  }
  std::vector<std::pair<std::string, suite::Share>> rows;
  for (const auto& [op, of_op] : parts) {
    rows.emplace_back(op, suite::ShareOfParts(of_op, weights.units));
  }
  std::ranges::stable_sort(rows, std::greater<>(),
                           [](const auto& row) { return row.second.value; });
  fmt::print("\n{} profiles{}: share of GPU time", weights.profiles,
             weights.card_hours > 0 ? fmt::format(", {:.0f} card-hours", weights.card_hours) : "");
  if (weights.units.size() > 1) {
    fmt::print(" (95 % interval over {} {}", weights.units.size(),
               weights.units_are_profiles ? "profiles" : "applications");
    if (!weights.units_are_profiles) fmt::print(", which weigh like {:.1f}", weights.effective);
    fmt::print(")");
  }
  fmt::print("\n");
  for (const auto& [op, share] : rows) {
    fmt::print("  {:30} {:>6.2f} %  [{:.2f}, {:.2f}]\n", op, 100 * share.value, 100 * share.low,
               100 * share.high);
  }
}

}  // namespace roofmark::cli
