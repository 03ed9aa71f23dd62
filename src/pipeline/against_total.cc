// SPDX-License-Identifier: Apache-2.0
#include "pipeline/against_total.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "gate/paired_blocks.h"

namespace roofmark::pipeline {
namespace {

std::vector<WeighedComparison> ThoseThatCount(std::span<const WeighedComparison> lines) {
  std::vector<WeighedComparison> count;
  std::ranges::copy_if(lines, std::back_inserter(count),
                       [](const WeighedComparison& line) { return line.weight > 0; });
  if (!count.empty()) return count;
  count.assign(lines.begin(), lines.end());
  for (WeighedComparison& line : count) line.weight = 1;
  return count;
}

// `blocks` means of as many consecutive values as there are; what is left over at the end joins the
// last one.
std::vector<double> Averaged(const std::vector<double>& logs, size_t blocks) {
  const size_t each = logs.size() / blocks;
  std::vector<double> means;
  for (size_t block = 0; block < blocks; ++block) {
    const auto begin = logs.begin() + static_cast<std::ptrdiff_t>(block * each);
    const auto end = block + 1 == blocks ? logs.end() : begin + static_cast<std::ptrdiff_t>(each);
    means.push_back(std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin));
  }
  return means;
}

}  // namespace

Against TotalAgainst(std::span<const WeighedComparison> all, double error_rate) {
  CHECK(!all.empty());
  const std::vector<WeighedComparison> lines = ThoseThatCount(all);
  Against none{.baseline = lines.front().against->baseline,
               .baseline_hash = lines.front().against->baseline_hash};
  size_t blocks = lines.front().against->block_logs.size();
  double time_weight = 0;  // sum of weight * ratio
  double weight = 0;
  double margin = 0;
  for (const auto& [share, against] : lines) {
    if (!against->ratio) {
      none.reason = "not every weighted workload has a comparison: " + against->reason;
      return none;
    }
    blocks = std::min(blocks, against->block_logs.size());
    time_weight += share * against->ratio->median;
    weight += share;
    margin += share * against->margin;
  }
  std::vector<double> logs(blocks, std::log(time_weight / weight));
  for (const auto& [share, against] : lines) {
    const double slope = share * against->ratio->median / time_weight;
    const double centre = std::log(against->ratio->median);
    const std::vector<double> means = Averaged(against->block_logs, blocks);
    for (size_t block = 0; block < blocks; ++block) logs[block] += slope * (means[block] - centre);
  }
  Against total = gate::Weigh(logs, error_rate, margin / weight);
  total.baseline = none.baseline;
  total.baseline_hash = none.baseline_hash;
  total.error_rate = lines.front().against->error_rate;
  const auto doubtful = std::ranges::find_if(
      lines, [](const WeighedComparison& line) { return line.against->Doubtful(); });
  if (doubtful != lines.end()) {
    total.standing = Standing::kUndecided;
    total.reason = "a weighted workload decides nothing: " + doubtful->against->reason;
  }
  return total;
}

bool NotSlowerAnywhere(std::span<const WeighedComparison> lines) {
  return std::ranges::all_of(ThoseThatCount(lines), [](const WeighedComparison& line) {
    return line.against->NotSlower();
  });
}

}  // namespace roofmark::pipeline
