// SPDX-License-Identifier: Apache-2.0
#include "model/against.h"

#include <array>

#include "base/check.h"
#include "model/interval_json.h"
#include "model/names.h"

namespace roofmark {
namespace {

constexpr std::array<std::string_view, 5> kStandings = {"faster", "slower", "same", "undecided",
                                                        "none"};

}  // namespace

std::string_view StandingName(Standing standing) {
  return kStandings[static_cast<size_t>(standing)];
}

Result<Standing> ParseStanding(std::string_view name) {
  return ParseName<Standing>(name, kStandings, "comparison");
}

Standing StandingOf(const Interval& ratio, double margin) {
  CHECK(margin >= 0 && margin < 1);
  if (ratio.high < 1 - margin) return Standing::kFaster;
  if (ratio.low > 1 + margin) return Standing::kSlower;
  if (ratio.low >= 1 - margin && ratio.high <= 1 + margin) return Standing::kSame;
  return Standing::kUndecided;
}

Json AgainstToJson(const Against& against) {
  return Json::MakeObject()
      .Set("baseline", against.baseline)
      .Set("baseline_hash", against.baseline_hash)
      .Set("comparison", StandingName(against.standing))
      .Set("reason", against.reason)
      .Set("ratio", against.ratio ? IntervalToJson(*against.ratio) : Json())
      .Set("margin", against.margin)
      .Set("error_rate", against.error_rate)
      .Set("blocks", against.blocks)
      .Set("block_logs", Json::Array(against.block_logs.begin(), against.block_logs.end()));
}

Result<Against> AgainstFromJson(const Json& json) {
  Against against{.baseline = TRY(json.String("baseline")),
                  .baseline_hash = TRY(json.String("baseline_hash")),
                  .standing = TRY(ParseStanding(TRY(json.String("comparison")))),
                  .reason = TRY(json.String("reason")),
                  .margin = TRY(json.Double("margin")),
                  .error_rate = TRY(json.Double("error_rate")),
                  .blocks = TRY(json.Int("blocks"))};
  const Json* const ratio = json.Find("ratio");
  if (ratio != nullptr && !ratio->is_null()) against.ratio = TRY(IntervalFromJson(*ratio));
  for (const Json& log : TRY(json.ArrayAt("block_logs"))->array()) {
    if (!log.is_number()) return Fail(ErrorKind::kInput, "block_logs holds a non-number");
    against.block_logs.push_back(log.as_double());
  }
  return against;
}

}  // namespace roofmark
