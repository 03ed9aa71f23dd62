// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a comparison. The unit is a block of four batches, first second second first
// (ABBA) or the other way round, by a coin. The two of a pair make the same calls on the same
// values, so what a block says is the mean of two log-ratios, in which any drift that is linear
// over the block cancels. Whatever else the machine does belongs to a time, not to a kernel: for
// equal kernels the coin makes a block's log-ratio as likely positive as negative, at whatever
// size, and independently of the other blocks. That is all that the signed-rank interval asks for
// (base/rank_interval.h); drift, autocorrelation, heavy tails and several modes do no harm.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "gate/judge.h"
#include "model/against.h"

namespace roofmark::gate {

// The stated probability that a run of comparisons says even once, in a line or a total, that two
// equal kernels differ.
inline constexpr double kComparisonErrorRate = 0.01;
// Ratios within this of 1 are called the same; also what differences between processes of the same
// kernel (placement in memory) may amount to.
inline constexpr double kEquivalenceMargin = 0.01;

// One half of a block: the same calls by both, in nanoseconds, call by call.
struct BlockHalf {
  std::vector<double> candidate;
  std::vector<double> baseline;
};

// The mean over the halves of the midmean of log(candidate / baseline) over their calls: a quarter
// of the calls at each end, interrupted ones, does not count. Requires: times > 0, as many of each,
// at least one in each half (CHECK).
double BlockLogRatio(const std::array<BlockHalf, 2>& halves);

// When a comparison of one workload looks at its blocks. It ends at the first look that decides;
// the line's error rate is divided among the looks, so that looking twice costs no validity.
struct BlockPlan {
  size_t first_look = 0;
  size_t last_look = 0;
  double look_error_rate = 0;
  double budget_s = 0;  // the last look is not begun where it would end later than this
};
// Requires: 0 < line_error_rate < 1.
BlockPlan PlanBlocks(Effort effort, double line_error_rate);

// The margin of a workload: that of equivalence, or two ticks of the clock, whichever is more.
double MarginOf(double time_ns, double tick_ns);

// What these blocks amount to; undecided with the reason where they are too few.
Against Weigh(std::span<const double> block_logs, double error_rate, double margin);

}  // namespace roofmark::gate
