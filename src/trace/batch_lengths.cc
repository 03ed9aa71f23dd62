// SPDX-License-Identifier: Apache-2.0
// Two lengths a group are enough for a sum and a sum of squares; the contexts follow the queries on
// the straight line that meets their sums.
#include "trace/batch_lengths.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace roofmark::trace {
namespace {

constexpr int64_t kMaxSequences = 1 << 20;

int64_t Sum(const std::vector<int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), int64_t{0});
}

// Whole numbers near the wanted ones, each at least its floor, that add up to `sum`; false where
// the floors alone exceed it.
bool Round(const std::vector<double>& wanted, const std::vector<int64_t>& floors, int64_t sum,
           std::vector<int64_t>& out) {
  if (Sum(floors) > sum) return false;
  out.resize(wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    out[i] = std::max(floors[i], static_cast<int64_t>(std::floor(wanted[i])));
  }
  int64_t rest = sum - Sum(out);
  const auto count = static_cast<int64_t>(out.size());
  for (int64_t i = 0; rest > 0 && i < count; ++i) {
    const int64_t share = (rest + count - i - 1) / (count - i);
    out[static_cast<size_t>(i)] += share;
    rest -= share;
  }
  for (size_t i = 0; rest < 0; i = (i + 1) % out.size()) {
    const int64_t spare = std::min(out[i] - floors[i], std::max<int64_t>(1, -rest / 8));
    out[i] -= spare;
    rest += spare;
  }
  return true;
}

// `count` positive lengths with the sum and, as nearly as possible, the sum of squares: some long
// ones, the others short. None is longer than `cap` where cap > 0.
std::vector<int64_t> TwoLengths(int64_t count, int64_t sum, int64_t squares, int64_t cap) {
  const auto n = static_cast<double>(count);
  const double mean = static_cast<double>(sum) / n;
  const double spread = std::sqrt(std::max(0.0, static_cast<double>(squares) / n - mean * mean));
  std::vector<double> wanted(static_cast<size_t>(count), mean);
  for (int64_t longs = 1; longs < count && spread > 0; ++longs) {
    const auto k = static_cast<double>(longs);
    const double high = mean + spread * std::sqrt((n - k) / k);
    const double low = mean - spread * std::sqrt(k / (n - k));
    if (low < 1) break;  // and it only gets lower
    std::fill(wanted.begin(), wanted.end(), low);
    std::fill_n(wanted.begin(), longs, high);
    if (cap <= 0 || high < static_cast<double>(cap) + 1) break;
  }
  std::vector<int64_t> lengths;
  if (!Round(wanted, std::vector<int64_t>(wanted.size(), 1), sum, lengths)) return {};
  std::ranges::sort(lengths, std::greater<>());
  return lengths;
}

std::vector<int64_t> ContextQueries(const StepPart& part, int64_t max_q) {
  const int64_t others = part.sequences - 1;
  const int64_t rest = part.tokens - max_q;
  const int64_t rest_squares = part.tokens_squared - max_q * max_q;
  // With the longest one known, the rest is closer to what it was.
  if (max_q > 0 && max_q < (int64_t{1} << 31) && others > 0 && rest >= others &&
      rest_squares >= rest * rest / others) {
    std::vector<int64_t> lengths = TwoLengths(others, rest, rest_squares, max_q);
    if (!lengths.empty() && lengths.front() <= max_q) {
      lengths.insert(lengths.begin(), max_q);
      return lengths;
    }
  }
  return TwoLengths(part.sequences, part.tokens, part.tokens_squared, max_q);
}

// Tokens before the queries: p = a + b * q with the label's sums of p and p * q.
std::vector<int64_t> ContextKeys(const StepPart& part, const std::vector<int64_t>& queries) {
  const auto n = static_cast<double>(queries.size());
  double q1 = 0;
  double q2 = 0;
  for (const int64_t q : queries) {
    q1 += static_cast<double>(q);
    q2 += static_cast<double>(q) * static_cast<double>(q);
  }
  const auto p1 = static_cast<double>(part.keys - part.tokens);
  const auto pq = static_cast<double>(part.tokens_keys - part.tokens_squared);
  const double spread = n * q2 - q1 * q1;
  double slope = spread > 0.5 ? (n * pq - q1 * p1) / spread : 0;
  double base = (p1 - slope * q1) / n;
  // No sequence has less than nothing before it: the steepest line that stays above zero.
  const auto [shortest, longest] = std::ranges::minmax(queries);
  const auto lowest = static_cast<double>(slope > 0 ? shortest : longest);
  if (base + slope * lowest < 0) {
    slope = p1 / (q1 - n * lowest);
    base = -slope * lowest;
  }
  std::vector<double> wanted;
  for (const int64_t q : queries) {
    wanted.push_back(static_cast<double>(q) * (1 + slope) + base);
  }
  std::vector<int64_t> keys;
  if (!Round(wanted, queries, part.keys, keys)) return {};
  return keys;
}

// Decode: one query each (more with drafts); the longest context where it is known, equal others.
bool AddGeneration(const StepPart& part, int64_t max_k, BatchLengths& lengths) {
  const auto count = static_cast<size_t>(part.sequences);
  std::vector<int64_t> queries;
  const std::vector<double> mean_q(
      count, static_cast<double>(part.tokens) / static_cast<double>(part.sequences));
  if (!Round(mean_q, std::vector<int64_t>(count, 1), part.tokens, queries)) return false;
  std::vector<double> wanted(count,
                             static_cast<double>(part.keys) / static_cast<double>(part.sequences));
  const bool context_longer =
      std::ranges::any_of(lengths.kv_lens, [&](int64_t kv) { return kv >= max_k; });
  if (max_k > 0 && !context_longer && part.sequences > 1 && max_k <= part.keys &&
      static_cast<double>(max_k) >= wanted[0]) {
    std::fill(wanted.begin(), wanted.end(),
              static_cast<double>(part.keys - max_k) / static_cast<double>(part.sequences - 1));
    wanted[0] = static_cast<double>(max_k);
  }
  std::vector<int64_t> keys;
  if (!Round(wanted, queries, part.keys, keys)) return false;
  lengths.q_lens.insert(lengths.q_lens.end(), queries.begin(), queries.end());
  lengths.kv_lens.insert(lengths.kv_lens.end(), keys.begin(), keys.end());
  return true;
}

}  // namespace

std::optional<BatchLengths> RebuildLengths(const StepLabel& label, int64_t max_q, int64_t max_k) {
  if (!label.Detailed()) return std::nullopt;
  if (label.context.sequences + label.generation.sequences > kMaxSequences) return std::nullopt;
  BatchLengths lengths;
  if (label.context.sequences > 0) {
    lengths.q_lens = ContextQueries(label.context, max_q);
    if (lengths.q_lens.empty()) return std::nullopt;
    lengths.kv_lens = ContextKeys(label.context, lengths.q_lens);
    if (lengths.kv_lens.empty()) return std::nullopt;
  }
  if (label.generation.sequences > 0 && !AddGeneration(label.generation, max_k, lengths)) {
    return std::nullopt;
  }
  return lengths;
}

}  // namespace roofmark::trace
