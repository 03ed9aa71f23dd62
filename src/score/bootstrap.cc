// SPDX-License-Identifier: Apache-2.0
#include "score/bootstrap.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

namespace roofmark::score {
namespace {

// Uniform in [0, 1) with 53 bits.
double Uniform(Random* random) {
  return static_cast<double>(random->Next() >> 11) * 0x1.0p-53;
}

// As base/stats.h defines it (the mean of the two middle values for an even count), without
// sorting everything.
double MedianInPlace(std::vector<double>* values) {
  const auto middle = values->begin() + static_cast<std::ptrdiff_t>(values->size() / 2);
  std::nth_element(values->begin(), middle, values->end());
  if (values->size() % 2 == 1) return *middle;
  return (*std::max_element(values->begin(), middle) + *middle) / 2;
}

}  // namespace

std::vector<double> ResampledMedians(std::span<const double> samples, int64_t draws,
                                     uint64_t seed) {
  CHECK(!samples.empty());
  Random random(seed);
  std::vector<double> medians;
  std::vector<double> drawn(samples.size());
  for (int64_t draw = 0; draw < draws; ++draw) {
    for (double& value : drawn) value = samples[random.Below(samples.size())];
    medians.push_back(MedianInPlace(&drawn));
  }
  return medians;
}

std::vector<double> ResampledWeights(double value, double low, double high, int64_t draws,
                                     uint64_t seed) {
  std::vector<double> weights(static_cast<size_t>(draws), value);
  if (!(low < high) || value < low || value > high) return weights;
  Random random(seed);
  for (double& weight : weights) {
    const bool below = random.Below(2) == 0;
    const double along = Uniform(&random);
    weight = below ? value - along * (value - low) : value + along * (high - value);
  }
  return weights;
}

Interval IntervalOf(const std::function<double(int64_t)>& figure, int64_t draws,
                    double confidence) {
  Interval interval{.median = figure(-1)};
  interval.low = interval.median;
  interval.high = interval.median;
  if (draws == 0) return interval;
  std::vector<double> values;
  for (int64_t draw = 0; draw < draws; ++draw) values.push_back(figure(draw));
  interval.low = std::min(interval.median, Quantile(values, (1 - confidence) / 2));
  interval.high = std::max(interval.median, Quantile(values, (1 + confidence) / 2));
  return interval;
}

}  // namespace roofmark::score
