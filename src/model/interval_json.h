// SPDX-License-Identifier: Apache-2.0
// How intervals are written wherever they are kept: {"median", "low", "high"}.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "base/stats.h"

namespace roofmark {

inline Json IntervalToJson(const Interval& interval) {
  return Json::MakeObject()
      .Set("median", interval.median)
      .Set("low", interval.low)
      .Set("high", interval.high);
}

inline Result<Interval> IntervalFromJson(const Json& json) {
  return Interval{.median = TRY(json.Double("median")),
                  .low = TRY(json.Double("low")),
                  .high = TRY(json.Double("high"))};
}

}  // namespace roofmark
