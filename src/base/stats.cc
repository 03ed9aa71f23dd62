// SPDX-License-Identifier: Apache-2.0
#include "base/stats.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace roofmark {
namespace {

std::vector<double> Sorted(std::span<const double> samples) {
  CHECK(!samples.empty());
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  return sorted;
}

double QuantileOfSorted(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// P(Binomial(n, 1/2) <= k).
double BinomialHalfCdf(int64_t n, int64_t k) {
  double sum = 0;
  const double log_half_n = static_cast<double>(n) * std::log(0.5);
  for (int64_t i = 0; i <= k; ++i) {
    sum +=
        std::exp(std::lgamma(static_cast<double>(n) + 1) - std::lgamma(static_cast<double>(i) + 1) -
                 std::lgamma(static_cast<double>(n - i) + 1) + log_half_n);
  }
  return std::min(sum, 1.0);
}

}  // namespace

double Median(std::span<const double> samples) {
  return Quantile(samples, 0.5);
}

double Quantile(std::span<const double> samples, double q) {
  CHECK(q >= 0 && q <= 1);
  return QuantileOfSorted(Sorted(samples), q);
}

Interval MedianInterval(std::span<const double> samples, double confidence) {
  const std::vector<double> sorted = Sorted(samples);
  const auto n = static_cast<int64_t>(sorted.size());
  // The interval [x(j), x(n+1-j)] (1-based) covers with 1 - 2 P(B <= j-1); take the largest such j.
  const double tail = (1 - confidence) / 2;
  int64_t j = 0;
  while (j + 1 <= n / 2 && BinomialHalfCdf(n, j) <= tail) ++j;
  const auto low = static_cast<size_t>(std::max<int64_t>(j - 1, 0));
  return {.median = QuantileOfSorted(sorted, 0.5),
          .low = sorted[low],
          .high = sorted[sorted.size() - 1 - low]};
}

double SignTestP(int64_t wins, int64_t losses) {
  CHECK(wins >= 0 && losses >= 0);
  if (wins + losses == 0) return 1;
  return std::min(1.0, 2 * BinomialHalfCdf(wins + losses, std::min(wins, losses)));
}

}  // namespace roofmark
