// SPDX-License-Identifier: Apache-2.0
#include "base/rank_interval.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"

namespace roofmark {
namespace {

// P(T = t) of the signed-rank statistic of n samples: rank r is in the sum or not, by a fair coin.
std::vector<double> RankSumLaw(size_t n) {
  std::vector<double> law = {1};
  for (size_t rank = 1; rank <= n; ++rank) {
    std::vector<double> next(law.size() + rank);
    for (size_t t = 0; t < law.size(); ++t) {
      next[t] += 0.5 * law[t];
      next[t + rank] += 0.5 * law[t];
    }
    law = std::move(next);
  }
  return law;
}

// The largest k with P(T <= k - 1) <= tail; 0 where there is none.
size_t CriticalRank(size_t n, double tail) {
  const std::vector<double> law = RankSumLaw(n);
  double below = 0;
  size_t k = 0;
  while (k < law.size() && below + law[k] <= tail) below += law[k++];
  return k;
}

}  // namespace

std::optional<Interval> SignedRankInterval(std::span<const double> samples, double error_rate) {
  CHECK(error_rate > 0 && error_rate < 1);
  const size_t k = CriticalRank(samples.size(), error_rate / 2);
  if (k == 0) return std::nullopt;
  std::vector<double> means;
  means.reserve(samples.size() * (samples.size() + 1) / 2);
  for (size_t i = 0; i < samples.size(); ++i) {
    for (size_t j = i; j < samples.size(); ++j) means.push_back(0.5 * (samples[i] + samples[j]));
  }
  std::ranges::sort(means);
  return Interval{.median = Median(means), .low = means[k - 1], .high = means[means.size() - k]};
}

size_t LeastSignedRankSamples(double error_rate) {
  CHECK(error_rate > 0 && error_rate < 1);
  // All signs equal is the most extreme outcome, with probability 2^-n on each side.
  return static_cast<size_t>(std::max(1.0, std::ceil(1 - std::log2(error_rate))));
}

}  // namespace roofmark
