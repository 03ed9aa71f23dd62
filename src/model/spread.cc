// SPDX-License-Identifier: Apache-2.0
#include "model/spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace roofmark {
namespace {

constexpr int kStepBits = 6;  // 64 buckets for each doubling
constexpr int32_t kExact = 1 << (kStepBits + 1);
constexpr int32_t kMaxBucket = 57 * 64 + 63;  // of INT64_MAX

Uint128 AddSquares(Uint128 a, Uint128 b) {
  const Uint128 sum = a + b;
  return sum < a ? ~Uint128{0} : sum;
}

std::string Decimal(Uint128 value) {
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value > 0);
  std::ranges::reverse(digits);
  return digits;
}

Result<Uint128> ParseDecimal(const std::string& text) {
  constexpr Uint128 kMax = ~Uint128{0};
  Uint128 value = 0;
  for (const char digit : text) {
    const bool fits =
        digit >= '0' && digit <= '9' && value <= (kMax - static_cast<Uint128>(digit - '0')) / 10;
    if (!fits) return Fail(ErrorKind::kInput, fmt::format("'{}' is no sum of squares", text));
    value = value * 10 + static_cast<Uint128>(digit - '0');
  }
  if (text.empty()) return Fail(ErrorKind::kInput, "a sum of squares is empty");
  return value;
}

bool IsCount(const Json& json) {
  return json.is_int() && json.as_int() >= 0;
}

}  // namespace

int32_t BucketOf(int64_t value) {
  CHECK(value >= 0);
  if (value < kExact) return static_cast<int32_t>(value);
  const int width = 64 - std::countl_zero(static_cast<uint64_t>(value));
  const int shift = width - (kStepBits + 1);
  return shift * (1 << kStepBits) + static_cast<int32_t>(value >> shift);
}

double BucketMiddle(int32_t bucket) {
  if (bucket < kExact) return bucket;
  const int shift = bucket / (1 << kStepBits) - 1;
  const double step = std::ldexp(1.0, shift);
  const double first = step * ((bucket % (1 << kStepBits)) + (1 << kStepBits));
  return first + (step - 1) / 2;
}

void Spread::Add(int64_t value, int64_t times) {
  CHECK(value >= 0 && times >= 0);
  if (times == 0) return;
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  AddCount(count_, times);
  int64_t product = 0;
  AddCount(sum_, __builtin_mul_overflow(value, times, &product) ? INT64_MAX : product);
  const Uint128 square = static_cast<Uint128>(value) * static_cast<Uint128>(value);
  // The division takes longer than all the rest.
  const bool fits =
      times == 1 || square == 0 || static_cast<Uint128>(times) <= ~Uint128{0} / square;
  squares_ = AddSquares(squares_, fits ? square * static_cast<Uint128>(times) : ~Uint128{0});
  AddCount(buckets_[BucketOf(value)], times);
}

void Spread::Merge(const Spread& other) {
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  AddCount(count_, other.count_);
  AddCount(sum_, other.sum_);
  squares_ = AddSquares(squares_, other.squares_);
  for (const auto& [bucket, count] : other.buckets_) AddCount(buckets_[bucket], count);
}

double Spread::Mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

double Spread::Quantile(double q) const {
  CHECK(count_ > 0);
  const double wanted = q * static_cast<double>(count_ - 1);
  double seen = 0;
  for (const auto& [bucket, count] : buckets_) {
    seen += static_cast<double>(count);
    if (seen > wanted) {
      return std::clamp(BucketMiddle(bucket), static_cast<double>(min_), static_cast<double>(max_));
    }
  }
  return static_cast<double>(max_);
}

Json Spread::ToJson() const {
  Json buckets = Json::MakeArray();
  for (const auto& [bucket, count] : buckets_) {
    buckets.Push(Json::Array{int64_t{bucket}, count});
  }
  return Json::Array{count_, sum_, Decimal(squares_), min_, max_, std::move(buckets)};
}

Result<Spread> Spread::FromJson(const Json& json) {
  const auto bad = [](std::string_view what) {
    return Fail(ErrorKind::kInput,
                fmt::format("a spread must be [count, sum, \"squares\", min, max, [[bucket, "
                            "count], ...]]: {}",
                            what));
  };
  if (!json.is_array() || json.array().size() != 6) return bad("it has another form");
  const Json::Array& parts = json.array();
  if (!IsCount(parts[0]) || !IsCount(parts[1]) || !parts[2].is_string() || !IsCount(parts[3]) ||
      !IsCount(parts[4]) || !parts[5].is_array()) {
    return bad("a member of another type, or negative");
  }
  Spread spread;
  spread.count_ = parts[0].as_int();
  spread.sum_ = parts[1].as_int();
  spread.squares_ = TRY(ParseDecimal(parts[2].as_string()));
  spread.min_ = parts[3].as_int();
  spread.max_ = parts[4].as_int();
  int64_t counted = 0;
  for (const Json& entry : parts[5].array()) {
    const bool pair = entry.is_array() && entry.array().size() == 2 && IsCount(entry.array()[0]) &&
                      IsCount(entry.array()[1]) && entry.array()[0].as_int() <= kMaxBucket;
    if (!pair) return bad("a bucket is no pair of a bucket and a count");
    const int64_t count = entry.array()[1].as_int();
    AddCount(spread.buckets_[static_cast<int32_t>(entry.array()[0].as_int())], count);
    AddCount(counted, count);
  }
  if (counted != spread.count_) return bad("the buckets do not add up to the count");
  const bool ordered = spread.min_ <= spread.max_ && (spread.count_ > 0 || spread.max_ == 0);
  if (!ordered) return bad("min is above max");
  return spread;
}

}  // namespace roofmark
