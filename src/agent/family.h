// SPDX-License-Identifier: Apache-2.0
// A family of kernels as data: a template source with named parameters and the values that each may
// take (examples/families/<name>/family.toml and its template). A member is one choice of values;
// rendering it gives an ordinary candidate file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/candidate.h"

namespace roofmark::agent {

struct Parameter {
  std::string name;
  std::vector<Json> values;  // texts or whole numbers; the first is where a search starts
  std::string why;           // the idea behind changing it
};

// The index of each parameter's value, in the family's order.
using Point = std::vector<size_t>;

struct Family {
  std::string name;
  std::string operator_name;
  Lane lane = Lane::kCpp;
  std::string summary;
  std::string source;  // the template: @parameter@ stands for a value, @parameters@ for all
  std::vector<Parameter> parameters;
  std::vector<std::map<std::string, Json>> excludes;  // members with all these values do not exist
  std::string hash;                                   // SHA-256 over both files

  bool Exists(const Point& point) const;
  // The next point in counting order, whether it exists or not; false, and the first one, after
  // the last.
  bool Advance(Point* point) const;
  size_t MemberCount() const;
  // {"isa": "avx2", ...}. Requires: the point has a value for each parameter.
  Json ValuesOf(const Point& point) const;
  // The inverse; nothing where `values` is no member of this family.
  std::optional<Point> PointOf(const Json& values) const;
  // The source of a member. Requires: it exists.
  std::string Render(const Point& point) const;
  // The member that a source was rendered from, by its line "roofmark-parameters: {...}".
  std::optional<Point> MemberIn(std::string_view kernel) const;
};

// Errors: kNotFound, kIo, kInput naming file and key: unknown keys, a parameter without values or
// with a repeated one, an exclusion of what does not exist, a placeholder in the template that is
// no parameter, a parameter that the template does not use, no @parameters@ line, no member left.
Result<Family> ReadFamily(const std::filesystem::path& folder);

// The family for an operator and lane among the folders of `families`.
// Errors: kNotFound with what is there; those of ReadFamily.
Result<Family> FindFamily(const std::filesystem::path& families, const std::string& operator_name,
                          Lane lane);

}  // namespace roofmark::agent
