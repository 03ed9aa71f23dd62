// SPDX-License-Identifier: Apache-2.0
// What a comparison of a candidate with a baseline found: an interval of the ratio of their times
// and what that interval means. There is a number only where both were measured side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/stats.h"

namespace roofmark {

enum class Standing {
  kFaster,     // the whole interval is below 1 - margin
  kSlower,     // the whole interval is above 1 + margin
  kSame,       // the whole interval is within the margin
  kUndecided,  // none of these: more or quieter measurements are needed
  kNone,       // not compared; the reason says why
};
std::string_view StandingName(Standing standing);
Result<Standing> ParseStanding(std::string_view name);

// Requires: 0 <= margin < 1.
Standing StandingOf(const Interval& ratio, double margin);

struct Against {
  std::string baseline;  // its name, and the hash of its sources
  std::string baseline_hash;
  Standing standing = Standing::kNone;
  std::string reason;             // why there is no comparison, or why it is not decided
  std::optional<Interval> ratio;  // candidate's time / baseline's
  double margin = 0;              // of equivalence, as a fraction
  // The probability that even one line of the run, its totals included, wrongly says faster or
  // slower; the interval's own rate is this divided by their number.
  double error_rate = 0;
  int64_t blocks = 0;
  std::vector<double> block_logs;  // log of the ratio in each block, in order

  // Whether something contradicts the ratio, as `reason` says: it proves nothing then.
  bool Doubtful() const { return ratio && standing == Standing::kUndecided && !reason.empty(); }

  // Whether the interval shows that the candidate is not slower than the margin allows.
  bool NotSlower() const {
    return ratio && standing != Standing::kNone && !Doubtful() && ratio->high <= 1 + margin;
  }
};

// {"baseline", "baseline_hash", "comparison", "reason", "ratio": {median, low, high} or null,
//  "margin", "error_rate", "blocks", "block_logs"}.
Json AgainstToJson(const Against& against);
Result<Against> AgainstFromJson(const Json& json);

}  // namespace roofmark
