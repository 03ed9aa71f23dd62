// SPDX-License-Identifier: Apache-2.0
// What is kept of many whole numbers (durations, lengths, sizes): exact moments and a histogram.
// All of it is integers, so that spreads add up in any order and grouping into the same bytes.
#pragma once

#include <cstdint>
#include <map>

#include "base/json.h"
#include "base/result.h"

namespace roofmark {

__extension__ using Uint128 = unsigned __int128;

// into + value, INT64_MAX where that is more. For values of 0 or more the order of adding never
// matters. Requires: both at least 0.
inline void AddCount(int64_t& into, int64_t value) {
  if (__builtin_add_overflow(into, value, &into)) into = INT64_MAX;
}

class Spread {
 public:
  // `value`, `times` times. Requires: both at least 0.
  void Add(int64_t value, int64_t times = 1);
  void Merge(const Spread& other);

  int64_t count() const { return count_; }
  int64_t sum() const { return sum_; }
  Uint128 squares() const { return squares_; }  // the sum of squares
  int64_t min() const { return min_; }          // 0 where there is nothing
  int64_t max() const { return max_; }
  double Mean() const;
  // The q-quantile (0 <= q <= 1) to within 0.8 % of its value. Requires: count() > 0.
  double Quantile(double q) const;

  // [count, sum, "squares", min, max, [[bucket, count], ...]]
  Json ToJson() const;
  // Errors: kInput for anything that ToJson does not write.
  static Result<Spread> FromJson(const Json& json);

  bool operator==(const Spread&) const = default;

 private:
  int64_t count_ = 0;
  int64_t sum_ = 0;
  Uint128 squares_ = 0;
  int64_t min_ = 0;
  int64_t max_ = 0;
  std::map<int32_t, int64_t> buckets_;  // by BucketOf
};

// The histogram's bucket: the value itself below 128, then 64 equal buckets for each doubling, by
// shifts alone, so that every machine agrees. Requires: value >= 0.
int32_t BucketOf(int64_t value);
// The middle of a bucket. Requires: one that BucketOf returns.
double BucketMiddle(int32_t bucket);

}  // namespace roofmark
