// SPDX-License-Identifier: Apache-2.0
#include "model/shape.h"

#include <fmt/format.h>

#include <array>

#include "model/names.h"

namespace roofmark {
namespace {

constexpr size_t kMaxListLength = size_t{1} << 24;

constexpr std::array<std::string_view, 4> kPhases = {"prefill", "decode", "mixed", "unknown"};
constexpr std::array<std::string_view, 5> kTiers = {"published", "corrected", "small", "mined",
                                                    "imported"};

Result<int64_t> Size(std::string_view key, const Json& json) {
  if (!json.is_int() || json.as_int() < 0) {
    return Fail(ErrorKind::kInput, fmt::format("axis '{}': {} is not a size", key, json.Dump()));
  }
  return json.as_int();
}

Result<std::vector<int64_t>> List(std::string_view key, const Json& json) {
  std::vector<int64_t> list;
  const auto add = [&](int64_t value, int64_t count) -> Result<void> {
    if (count < 0 || static_cast<size_t>(count) > kMaxListLength - list.size()) {
      return Fail(ErrorKind::kInput, fmt::format("axis '{}': list is over 2^24 entries", key));
    }
    list.insert(list.end(), static_cast<size_t>(count), value);
    return {};
  };
  if (json.is_array()) {
    for (const Json& item : json.array()) TRY(add(TRY(Size(key, item)), 1));
    return list;
  }
  const Json& runs = *TRY_IN(json.ArrayAt("rle"), fmt::format("axis '{}'", key));
  for (const Json& run : runs.array()) {
    if (!run.is_array() || run.array().size() != 2) {
      return Fail(ErrorKind::kInput,
                  fmt::format("axis '{}': {} is not [value, count]", key, run.Dump()));
    }
    TRY(add(TRY(Size(key, run.array()[0])), TRY(Size(key, run.array()[1]))));
  }
  return list;
}

}  // namespace

std::string_view PhaseName(Phase phase) {
  return kPhases[static_cast<size_t>(phase)];
}
Result<Phase> ParsePhase(std::string_view name) {
  return ParseName<Phase>(name, kPhases, "phase");
}
std::string_view TierName(Tier tier) {
  return kTiers[static_cast<size_t>(tier)];
}
Result<Tier> ParseTier(std::string_view name) {
  return ParseName<Tier>(name, kTiers, "tier");
}

Json AxesToJson(const Axes& axes) {
  Json json = Json::MakeObject();
  for (const auto& [key, value] : axes) {
    if (const auto* size = std::get_if<int64_t>(&value)) json.Set(key, *size);
    if (const auto* real = std::get_if<double>(&value)) json.Set(key, *real);
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      Json::Array items(list->begin(), list->end());
      json.Set(key, std::move(items));
    }
  }
  return json;
}

Result<Axes> AxesFromJson(const Json& json) {
  if (!json.is_object()) return Fail(ErrorKind::kInput, "axes must be an object");
  Axes axes;
  for (const auto& [key, value] : json.object()) {
    if (value.is_array() || value.is_object()) {
      axes[key] = TRY(List(key, value));
    } else if (value.is_number() && !value.is_int()) {
      axes[key] = value.as_double();
    } else {
      axes[key] = TRY(Size(key, value));
    }
  }
  return axes;
}

}  // namespace roofmark
