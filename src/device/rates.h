// SPDX-License-Identifier: Apache-2.0
// A measured rate with its spread, and how it enters a device card.
#pragma once

#include <span>
#include <string>

#include "base/stats.h"
#include "model/device_card.h"

namespace roofmark::device {

// Work a second, from the times of repetitions of the same work. The median is the rate; quartiles
// are its spread.
struct Rate {
  double per_s = 0;
  double low = 0;
  double high = 0;
  size_t samples = 0;

  // "median of 15, quartiles -0.3 % and +0.2 %".
  std::string Spread() const;
};

// Requires: seconds not empty.
Rate RateOf(double work, std::span<const double> seconds);

// Keeps the better of what a ceiling has and `rate`, with the source that belongs to it.
void Offer(double* ceiling, Ceilings* ceilings, const std::string& key, const Rate& rate,
           const std::string& how);

// "2026-11-29".
std::string Today();

}  // namespace roofmark::device
