// SPDX-License-Identifier: Apache-2.0
// The only user of toml++. Dates are not used by any of our documents and are refused.
#include <fmt/format.h>
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>

#include "base/json.h"

namespace roofmark {
namespace {

Result<Json> Convert(const toml::node& node);

// toml++ keeps keys sorted; order of appearance is restored from the source positions.
Result<Json> ConvertTable(const toml::table& table) {
  std::vector<std::pair<const toml::key*, const toml::node*>> members;
  for (const auto& [key, value] : table) members.emplace_back(&key, &value);
  std::ranges::stable_sort(members, [](const auto& a, const auto& b) {
    const auto& x = a.first->source().begin;
    const auto& y = b.first->source().begin;
    return std::pair(x.line, x.column) < std::pair(y.line, y.column);
  });
  Json result = Json::MakeObject();
  for (const auto& [key, value] : members) {
    result.object().emplace_back(std::string(key->str()), TRY(Convert(*value)));
  }
  return result;
}

Result<Json> Convert(const toml::node& node) {
  if (const auto* table = node.as_table()) return ConvertTable(*table);
  if (const auto* list = node.as_array()) {
    Json result = Json::MakeArray();
    for (const toml::node& item : *list) result.Push(TRY(Convert(item)));
    return result;
  }
  if (const auto* value = node.as_string()) return Json(value->get());
  if (const auto* value = node.as_integer()) return Json(value->get());
  if (const auto* value = node.as_floating_point()) return Json(value->get());
  if (const auto* value = node.as_boolean()) return Json(value->get());
  return Fail(ErrorKind::kInput, fmt::format("not usable TOML: line {}: dates are not supported",
                                             node.source().begin.line));
}

}  // namespace

Result<Json> Json::ParseToml(std::string_view text) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    return Fail(ErrorKind::kInput,
                fmt::format("not valid TOML: line {}, column {}: {}", error.source().begin.line,
                            error.source().begin.column, error.description()));
  }
  return ConvertTable(parsed.table());
}

}  // namespace roofmark
