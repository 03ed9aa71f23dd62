// SPDX-License-Identifier: Apache-2.0
// One line of shapes.jsonl against the operator's card.
#include <fmt/format.h>

#include <algorithm>

#include "suite/card.h"

namespace roofmark::suite {
namespace {

Result<double> NonNegative(const Json& table, std::string_view key) {
  const double value = TRY(table.Double(key));
  if (value < 0) return Fail(ErrorKind::kInput, fmt::format("{} = {} is negative", key, value));
  return value;
}

Result<std::map<std::string, double>> Numbers(const Json& table, std::string_view key) {
  std::map<std::string, double> numbers;
  const Json& found = *TRY(table.ObjectAt(key));
  for (const auto& [name, unused] : found.object()) {
    numbers[name] = TRY_IN(NonNegative(found, name), std::string(key));
  }
  return numbers;
}

Result<Published> ParsePublished(const Json& table) {
  if (!table.is_object()) return Fail(ErrorKind::kInput, "must be an object");
  TRY(table.AllowKeys({"w_flops", "q_read", "q_write", "sol_us", "regime", "prod_us",
                       "prod_framework", "call_count", "total_duration_us", "source"}));
  Published published{.present = true};
  published.work = TRY(Numbers(table, "w_flops"));
  published.read_bytes = TRY(NonNegative(table, "q_read"));
  published.write_bytes = TRY(NonNegative(table, "q_write"));
  published.sol_us = TRY(Numbers(table, "sol_us"));
  if (table.Find("prod_us") != nullptr) published.production_us = TRY(Numbers(table, "prod_us"));
  return published;
}

// Each axis with its type, attributes where the shape overrides them, and nothing else.
Result<void> CheckAxes(const Operator& op, Axes* axes) {
  for (const auto& [name, is_list] : op.axes) {
    const auto found = axes->find(name);
    if (found == axes->end()) {
      return Fail(ErrorKind::kInput, fmt::format("axis '{}' is missing", name));
    }
    const bool given = is_list ? std::holds_alternative<std::vector<int64_t>>(found->second)
                               : std::holds_alternative<int64_t>(found->second);
    if (!given) {
      return Fail(ErrorKind::kInput, fmt::format("axis '{}' must be {}", name,
                                                 is_list ? "a list of sizes" : "a size"));
    }
  }
  for (auto& [name, value] : *axes) {
    if (std::ranges::find(op.axes, name, &std::pair<std::string, bool>::first) != op.axes.end()) {
      continue;
    }
    if (std::ranges::find(op.attributes, name, &std::pair<std::string, double>::first) ==
        op.attributes.end()) {
      return Fail(ErrorKind::kInput,
                  fmt::format("'{}' is neither an axis nor an attribute of {}", name, op.name));
    }
    if (const auto* whole = std::get_if<int64_t>(&value)) value = static_cast<double>(*whole);
    if (!std::holds_alternative<double>(value)) {
      return Fail(ErrorKind::kInput, fmt::format("attribute '{}' must be a number", name));
    }
  }
  return {};
}

}  // namespace

Result<Shape> ParseShape(const Json& line, const Operator& op) {
  if (!line.is_object()) return Fail(ErrorKind::kInput, "a shape must be an object");
  TRY(line.AllowKeys({"id", "tier", "phase", "axes", "hidden", "published", "construct"}));
  Shape shape;
  shape.id = TRY(line.String("id"));
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  if (shape.id.empty() || !std::ranges::all_of(shape.id, plain)) {
    return Fail(ErrorKind::kInput, "an id is letters, digits, '-', '_' and '.'");
  }
  shape.tier = TRY(ParseTier(TRY(line.String("tier"))));
  shape.phase = TRY(ParsePhase(TRY(line.String("phase"))));
  shape.axes = TRY(AxesFromJson(*TRY(line.ObjectAt("axes"))));
  TRY(CheckAxes(op, &shape.axes));
  if (line.Find("hidden") != nullptr) shape.hidden = TRY(line.Bool("hidden"));
  if (const Json* published = line.Find("published")) {
    shape.published = TRY_IN(ParsePublished(*published), "published");
  }
  if (line.Find("construct") != nullptr) {
    shape.construct = *TRY(line.ObjectAt("construct"));
    TRY_IN(shape.construct.AllowKeys({"args", "kwargs", "seed", "training", "call"}), "construct");
  }
  if (shape.tier == Tier::kPublished && !shape.published.present) {
    return Fail(ErrorKind::kInput, "a published shape needs its 'published' figures");
  }
  return shape;
}

}  // namespace roofmark::suite
