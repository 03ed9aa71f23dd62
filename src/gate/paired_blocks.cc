// SPDX-License-Identifier: Apache-2.0
#include "gate/paired_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/rank_interval.h"

namespace roofmark::gate {
namespace {

constexpr double kLooks = 2;

double MidMean(std::vector<double> values) {
  std::ranges::sort(values);
  const auto cut = static_cast<std::ptrdiff_t>(values.size() / 4);
  const double sum = std::accumulate(values.begin() + cut, values.end() - cut, 0.0);
  return sum / static_cast<double>(values.size() - 2 * static_cast<size_t>(cut));
}

}  // namespace

double BlockLogRatio(const std::array<BlockHalf, 2>& halves) {
  double sum = 0;
  for (const BlockHalf& half : halves) {
    CHECK(!half.candidate.empty() && half.candidate.size() == half.baseline.size());
    std::vector<double> logs;
    for (size_t i = 0; i < half.candidate.size(); ++i) {
      CHECK(half.candidate[i] > 0 && half.baseline[i] > 0);
      logs.push_back(std::log(half.candidate[i] / half.baseline[i]));
    }
    sum += MidMean(std::move(logs));
  }
  return sum / 2;
}

BlockPlan PlanBlocks(Effort effort, double line_error_rate) {
  const double rate = line_error_rate / kLooks;
  // Three more than the least, so that one block against the others does not decide everything.
  const size_t least = LeastSignedRankSamples(rate) + 3;
  if (effort == Effort::kQuick) {
    const size_t first = std::max<size_t>(least, 16);
    return {.first_look = first, .last_look = 2 * first, .look_error_rate = rate, .budget_s = 4};
  }
  const size_t first = std::max<size_t>(least, 24);
  return {.first_look = first, .last_look = 4 * first, .look_error_rate = rate, .budget_s = 15};
}

double MarginOf(double time_ns, double tick_ns) {
  CHECK(time_ns > 0);
  // A tick that is coarser than the call itself decides nothing; a margin of a half says so.
  return std::min(0.5, std::max(kEquivalenceMargin, 2 * tick_ns / time_ns));
}

Against Weigh(std::span<const double> block_logs, double error_rate, double margin) {
  Against against{.standing = Standing::kUndecided,
                  .margin = margin,
                  .blocks = static_cast<int64_t>(block_logs.size()),
                  .block_logs = {block_logs.begin(), block_logs.end()}};
  const std::optional<Interval> logs = SignedRankInterval(block_logs, error_rate);
  if (!logs) {
    against.reason = fmt::format("{} blocks are too few for an error rate of {:.2g}",
                                 block_logs.size(), error_rate);
    return against;
  }
  against.ratio = Interval{
      .median = std::exp(logs->median), .low = std::exp(logs->low), .high = std::exp(logs->high)};
  against.standing = StandingOf(*against.ratio, margin);
  return against;
}

}  // namespace roofmark::gate
