// SPDX-License-Identifier: Apache-2.0
#include "device/rates.h"

#include <fmt/format.h>

#include <ctime>

#include "base/check.h"

namespace roofmark::device {

std::string Rate::Spread() const {
  return fmt::format("median of {}, quartiles {:+.1f} % and {:+.1f} %", samples,
                     100 * (low / per_s - 1), 100 * (high / per_s - 1));
}

Rate RateOf(double work, std::span<const double> seconds) {
  CHECK(!seconds.empty());
  return {.per_s = work / Median(seconds),
          .low = work / Quantile(seconds, 0.75),
          .high = work / Quantile(seconds, 0.25),
          .samples = seconds.size()};
}

void Offer(double* ceiling, Ceilings* ceilings, const std::string& key, const Rate& rate,
           const std::string& how) {
  if (rate.per_s <= *ceiling) return;
  *ceiling = rate.per_s;
  ceilings->sources[key] = how + ", " + rate.Spread();
  ceilings->present = true;
}

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

}  // namespace roofmark::device
