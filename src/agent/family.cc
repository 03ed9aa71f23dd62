// SPDX-License-Identifier: Apache-2.0
#include "agent/family.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"

namespace roofmark::agent {
namespace {

constexpr std::string_view kAllParameters = "parameters";
constexpr std::string_view kMark = "roofmark-parameters: ";

bool IsNameChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// The end of a placeholder "@name@" that starts at `at`, or `at` where there is none.
size_t PlaceholderEnd(std::string_view text, size_t at) {
  size_t end = at + 1;
  while (end < text.size() && IsNameChar(text[end])) ++end;
  return end < text.size() && text[end] == '@' && end > at + 1 ? end + 1 : at;
}

std::set<std::string> PlaceholdersIn(std::string_view text) {
  std::set<std::string> names;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '@') continue;
    if (const size_t end = PlaceholderEnd(text, at); end > at) {
      names.emplace(text.substr(at + 1, end - at - 2));
      at = end - 1;
    }
  }
  return names;
}

std::string TextOf(const Json& value) {
  return value.is_string() ? value.as_string() : value.Dump();
}

Result<Parameter> ReadParameter(const Json& table) {
  if (!table.is_object()) return Fail(ErrorKind::kInput, "must be a table");
  TRY(table.AllowKeys({"name", "values", "why"}));
  Parameter parameter{.name = TRY(table.String("name")), .why = TRY(table.String("why"))};
  if (parameter.name.empty() || !std::ranges::all_of(parameter.name, IsNameChar) ||
      parameter.name == kAllParameters) {
    return Fail(ErrorKind::kInput, fmt::format("name = '{}' must be lower-case letters, digits and "
                                               "underscores, and not 'parameters'",
                                               parameter.name));
  }
  for (const Json& value : TRY(table.ArrayAt("values"))->array()) {
    if (!value.is_string() && !value.is_int()) {
      return Fail(ErrorKind::kInput,
                  fmt::format("value {} is neither text nor a whole number", value.Dump()));
    }
    if (std::ranges::find(parameter.values, value) != parameter.values.end()) {
      return Fail(ErrorKind::kInput, fmt::format("value {} is there twice", value.Dump()));
    }
    parameter.values.push_back(value);
  }
  if (parameter.values.empty()) return Fail(ErrorKind::kInput, "values is empty");
  return parameter;
}

Result<std::map<std::string, Json>> ReadExclusion(const Json& table, const Family& family) {
  if (!table.is_object()) return Fail(ErrorKind::kInput, "must be a table");
  std::map<std::string, Json> exclusion;
  for (const auto& [name, value] : table.object()) {
    const auto parameter = std::ranges::find(family.parameters, name, &Parameter::name);
    if (parameter == family.parameters.end()) {
      return Fail(ErrorKind::kInput, fmt::format("'{}' is no parameter", name));
    }
    if (std::ranges::find(parameter->values, value) == parameter->values.end()) {
      return Fail(ErrorKind::kInput, fmt::format("{} = {} is no value of it", name, value.Dump()));
    }
    exclusion[name] = value;
  }
  if (exclusion.empty()) return Fail(ErrorKind::kInput, "is empty and would exclude everything");
  return exclusion;
}

Result<void> CheckTemplate(const Family& family) {
  std::set<std::string> unused = {std::string(kAllParameters)};
  for (const Parameter& parameter : family.parameters) unused.insert(parameter.name);
  for (const std::string& name : PlaceholdersIn(family.source)) {
    const bool known =
        name == kAllParameters ||
        std::ranges::find(family.parameters, name, &Parameter::name) != family.parameters.end();
    unused.erase(name);
    if (!known) {
      return Fail(ErrorKind::kInput,
                  fmt::format("the template names @{}@, which is no parameter", name));
    }
  }
  if (!unused.empty()) {
    return Fail(ErrorKind::kInput,
                fmt::format("the template does not use @{}@", fmt::join(unused, "@, @")));
  }
  if (family.source.find(fmt::format("{}@{}@", kMark, kAllParameters)) == std::string::npos) {
    return Fail(ErrorKind::kInput,
                fmt::format("the template has no line \"// {}@{}@\"", kMark, kAllParameters));
  }
  return {};
}

Result<Family> ParseFamily(const Json& card) {
  TRY(card.AllowKeys(
      {"name", "operator", "lane", "template", "summary", "parameters", "excludes"}));
  Family family{.name = TRY(card.String("name")),
                .operator_name = TRY(card.String("operator")),
                .lane = TRY(ParseLane(TRY(card.String("lane")))),
                .summary = TRY(card.String("summary"))};
  for (const Json& table : TRY(card.ArrayAt("parameters"))->array()) {
    const std::string place = fmt::format("[[parameters]] number {}", family.parameters.size() + 1);
    Parameter parameter = TRY_IN(ReadParameter(table), place);
    if (std::ranges::find(family.parameters, parameter.name, &Parameter::name) !=
        family.parameters.end()) {
      return Fail(ErrorKind::kInput, fmt::format("{}: '{}' is there twice", place, parameter.name));
    }
    family.parameters.push_back(std::move(parameter));
  }
  if (card.Find("excludes") == nullptr) return family;
  for (const Json& table : TRY(card.ArrayAt("excludes"))->array()) {
    family.excludes.push_back(
        TRY_IN(ReadExclusion(table, family),
               fmt::format("[[excludes]] number {}", family.excludes.size() + 1)));
  }
  return family;
}

Result<Family> ReadParts(const fs::path& folder) {
  const std::string text = TRY(ReadFile(folder / "family.toml"));
  const Json card = TRY(Json::ParseToml(text));
  Family family = TRY(ParseFamily(card));
  const fs::path source = TRY(card.String("template"));
  if (source != source.filename()) {
    return Fail(ErrorKind::kInput, "template must be a file in the family's own folder");
  }
  family.source = TRY(ReadFile(folder / source));
  TRY(CheckTemplate(family));
  if (family.MemberCount() == 0) return Fail(ErrorKind::kInput, "[[excludes]] leave no member");
  family.hash = Sha256Hex(Sha256Hex(text) + Sha256Hex(family.source));
  return family;
}

}  // namespace

bool Family::Exists(const Point& point) const {
  const Json values = ValuesOf(point);
  return std::ranges::none_of(excludes, [&](const auto& exclusion) {
    return std::ranges::all_of(
        exclusion, [&](const auto& entry) { return *values.Find(entry.first) == entry.second; });
  });
}

bool Family::Advance(Point* point) const {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (++(*point)[i] < parameters[i].values.size()) return true;
    (*point)[i] = 0;
  }
  return false;
}

size_t Family::MemberCount() const {
  size_t count = 0;
  Point point(parameters.size(), 0);
  do {
    if (Exists(point)) ++count;
  } while (Advance(&point));
  return count;
}

Json Family::ValuesOf(const Point& point) const {
  CHECK(point.size() == parameters.size());
  Json values = Json::MakeObject();
  for (size_t i = 0; i < point.size(); ++i) {
    CHECK(point[i] < parameters[i].values.size());
    values.Set(parameters[i].name, parameters[i].values[point[i]]);
  }
  return values;
}

std::optional<Point> Family::PointOf(const Json& values) const {
  if (!values.is_object() || values.object().size() != parameters.size()) return std::nullopt;
  Point point;
  for (const Parameter& parameter : parameters) {
    const Json* value = values.Find(parameter.name);
    if (value == nullptr) return std::nullopt;
    const auto found = std::ranges::find(parameter.values, *value);
    if (found == parameter.values.end()) return std::nullopt;
    point.push_back(static_cast<size_t>(found - parameter.values.begin()));
  }
  return Exists(point) ? std::optional(point) : std::nullopt;
}

std::string Family::Render(const Point& point) const {
  CHECK(Exists(point));
  const Json values = ValuesOf(point);
  std::string text;
  for (size_t at = 0; at < source.size();) {
    const size_t end = source[at] == '@' ? PlaceholderEnd(source, at) : at;
    if (end == at) {
      text += source[at++];
      continue;
    }
    const std::string key = source.substr(at + 1, end - at - 2);
    text += key == kAllParameters ? values.Dump() : TextOf(*values.Find(key));
    at = end;
  }
  return text;
}

std::optional<Point> Family::MemberIn(std::string_view kernel) const {
  const size_t at = kernel.find(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = kernel.substr(at + kMark.size());
  const Result<Json> values = Json::Parse(rest.substr(0, rest.find('\n')));
  if (!values) return std::nullopt;
  const std::optional<Point> point = PointOf(*values);
  // Whoever edited the file afterwards has made another kernel of it.
  return point && Render(*point) == kernel ? point : std::nullopt;
}

Result<Family> ReadFamily(const fs::path& folder) {
  return TRY_IN(ReadParts(folder), (folder / "family.toml").string());
}

Result<Family> FindFamily(const fs::path& families, const std::string& operator_name, Lane lane) {
  std::vector<std::string> known;
  for (const fs::path& folder : TRY(ListFolder(families))) {
    if (!fs::exists(folder / "family.toml")) continue;
    Family family = TRY(ReadFamily(folder));
    if (family.operator_name == operator_name && family.lane == lane) return family;
    known.push_back(
        fmt::format("{} ({}, {})", family.name, family.operator_name, LaneName(family.lane)));
  }
  return Fail(
      ErrorKind::kNotFound,
      fmt::format("{}: there is no family of kernels for {} in the lane {} (there are: {}); "
                  "add a folder with a family.toml and a template",
                  families.string(), operator_name, LaneName(lane), fmt::join(known, ", ")));
}

}  // namespace roofmark::agent
