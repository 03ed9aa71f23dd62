// SPDX-License-Identifier: Apache-2.0
// One tree for small documents. JSON and TOML both parse into it, and it prints with its keys in
// the order in which they were added, so that output is stable and reads as it was written. The
// parsers (nlohmann-json, toml++) are behind this header: they are heavy, and included once each.
// Profiles do not pass through here: trace/ reads them event by event.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace roofmark {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;
  Json(bool value) : value_(value) {}                            // NOLINT: values convert
  Json(int value) : value_(static_cast<int64_t>(value)) {}       // NOLINT
  Json(int64_t value) : value_(value) {}                         // NOLINT
  Json(uint64_t value) : value_(static_cast<int64_t>(value)) {}  // NOLINT
  Json(double value) : value_(value) {}                          // NOLINT
  Json(const char* value) : value_(std::string(value)) {}        // NOLINT
  Json(std::string_view value) : value_(std::string(value)) {}   // NOLINT
  Json(std::string value) : value_(std::move(value)) {}          // NOLINT
  Json(Array value) : value_(std::move(value)) {}                // NOLINT
  Json(Object value) : value_(std::move(value)) {}               // NOLINT

  static Json MakeObject() { return Json(Object{}); }
  static Json MakeArray() { return Json(Array{}); }

  // Parses one JSON document. Duplicate keys, trailing text and invalid UTF-8 are errors that name
  // the byte offset.
  static Result<Json> Parse(std::string_view text);
  // Parses a TOML document; errors name line and column.
  static Result<Json> ParseToml(std::string_view text);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<int64_t>(value_); }
  bool is_number() const { return is_int() || std::holds_alternative<double>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  // Requires: the value has that type (CHECK). as_double accepts integers too.
  bool as_bool() const;
  int64_t as_int() const;
  double as_double() const;
  const std::string& as_string() const;
  const Array& array() const;
  const Object& object() const;
  Array& array();
  Object& object();

  // The member, or nullptr where this is no object or has no such key.
  const Json* Find(std::string_view key) const;
  // The member of the named type, or an input error that names the key and what is there instead.
  Result<int64_t> Int(std::string_view key) const;
  Result<double> Double(std::string_view key) const;
  Result<std::string> String(std::string_view key) const;
  Result<bool> Bool(std::string_view key) const;
  Result<const Json*> ArrayAt(std::string_view key) const;
  Result<const Json*> ObjectAt(std::string_view key) const;

  // An input error that names the first member outside `allowed`, and what is allowed.
  // Requires: is_object().
  Result<void> AllowKeys(const std::vector<std::string_view>& allowed) const;

  // Adds or replaces a member. Requires: is_object().
  Json& Set(std::string_view key, Json value);
  // Appends. Requires: is_array().
  Json& Push(Json value);

  // Compact by default; indent >= 0 puts each member on its own line. Doubles print with the fewest
  // digits that read back to the same value; NaN and infinities are a bug (CHECK), since JSON has
  // none. Invalid UTF-8 in strings is replaced.
  std::string Dump(int indent = -1) const;

  bool operator==(const Json&) const = default;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

}  // namespace roofmark
