// SPDX-License-Identifier: Apache-2.0
#include "cli/mined_totals.h"

#include <algorithm>
#include <map>

#include "pipeline/mine_fleet.h"

namespace roofmark::cli {

Result<report::MinedTotals> MinedTotals(const std::filesystem::path& aggregate) {
  const Aggregate fleet = TRY(pipeline::ReadAggregate(aggregate));
  report::MinedTotals totals{.profiles = static_cast<int64_t>(fleet.profiles().size())};
  std::map<std::string, double> unattributed;
  int64_t events = 0;
  int64_t lost = 0;
  for (const auto& [hash, profile] : fleet.profiles()) {
    totals.gpu_ns += static_cast<double>(profile.busy_ns);
    events += profile.events;
    lost += profile.lost_events;
    for (const AggregateCell& cell : profile.cells) {
      if (!cell.op.empty()) continue;
      totals.unattributed_ns += static_cast<double>(cell.exposed_ns);
      for (const auto& [name, use] : cell.kernels) {
        unattributed[name] += static_cast<double>(use.sum_ns);
      }
    }
  }
  if (events + lost > 0) {
    totals.loss = static_cast<double>(lost) / static_cast<double>(events + lost);
  }
  totals.unattributed.assign(unattributed.begin(), unattributed.end());
  std::ranges::stable_sort(totals.unattributed, std::greater<>(),
                           [](const auto& kernel) { return kernel.second; });
  return totals;
}

}  // namespace roofmark::cli
