// SPDX-License-Identifier: Apache-2.0
#include "suite/share_interval.h"

#include <algorithm>
#include <cmath>

#include "base/student_t.h"

namespace roofmark::suite {
namespace {

double OfOdds(double log_odds) {
  return 1 / (1 + std::exp(-log_odds));
}

// Delete-one standard error of a share.
double JackknifeError(double value, const std::map<size_t, double>& parts,
                      const std::vector<double>& units) {
  const size_t n = units.size();
  double sum = 0;
  std::vector<double> without(n);
  for (size_t unit = 0; unit < n; ++unit) {
    const auto found = parts.find(unit);
    const double part = found == parts.end() ? 0 : found->second;
    const double left = 1 - units[unit];
    without[unit] = left > 0 ? (value - part) / left : value;
    sum += without[unit];
  }
  const double mean = sum / static_cast<double>(n);
  double squares = 0;
  for (const double one : without) squares += (one - mean) * (one - mean);
  return std::sqrt(squares * static_cast<double>(n - 1) / static_cast<double>(n));
}

}  // namespace

Share LogOddsInterval(double value, double error, double degrees_of_freedom) {
  Share share{.value = value, .low = value, .high = value};
  if (!(error > 0) || !(value > 0) || !(value < 1)) return share;
  const double reach =
      StudentT95(std::max(1.0, degrees_of_freedom)) * error / (value * (1 - value));
  const double at = std::log(value / (1 - value));
  share.low = std::min(value, OfOdds(at - reach));
  share.high = std::max(value, OfOdds(at + reach));
  return share;
}

double EffectiveNumber(double sum, double squares) {
  return squares > 0 ? sum * sum / squares : 0;
}

double DegreesOfFreedom(const std::map<size_t, double>& parts, const std::vector<double>& units) {
  double sum = 0;
  double squares = 0;
  for (const double unit : units) {
    sum += unit;
    squares += unit * unit;
  }
  const double all = EffectiveNumber(sum, squares) - 1;
  sum = squares = 0;
  for (const auto& [unit, part] : parts) {
    sum += part;
    squares += part * part;
  }
  return std::min(all, EffectiveNumber(sum, squares) + 1);
}

Share ShareOfParts(const std::map<size_t, double>& parts, const std::vector<double>& units) {
  double value = 0;
  for (const auto& [unit, part] : parts) value += part;
  if (units.size() < 2) return {.value = value, .low = value, .high = value};
  return LogOddsInterval(value, JackknifeError(value, parts, units),
                         DegreesOfFreedom(parts, units));
}

}  // namespace roofmark::suite
