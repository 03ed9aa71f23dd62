// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/text.h"

namespace roofmark {
namespace {

const char* TypeName(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_bool()) return "a boolean";
  if (value.is_int()) return "an integer";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a string";
  return value.is_array() ? "a list" : "an object";
}

Result<const Json*> Typed(const Json& json, std::string_view key, bool (Json::*is)() const,
                          const char* wanted) {
  const Json* found = json.Find(key);
  if (found == nullptr) {
    return Fail(ErrorKind::kInput, fmt::format("key '{}' is missing ({} expected)", key, wanted));
  }
  if (!(found->*is)()) {
    return Fail(ErrorKind::kInput,
                fmt::format("key '{}' is {} where {} is expected", key, TypeName(*found), wanted));
  }
  return found;
}

void DumpString(std::string_view text, std::string* out) {
  out->push_back('"');
  for (const char c : ValidUtf8(text)) {
    switch (c) {
      case '"':
        *out += "\\\"";
        break;
      case '\\':
        *out += "\\\\";
        break;
      case '\n':
        *out += "\\n";
        break;
      case '\r':
        *out += "\\r";
        break;
      case '\t':
        *out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          *out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out->push_back(c);
        }
    }
  }
  out->push_back('"');
}

void NewLine(int indent, int depth, std::string* out) {
  if (indent < 0) return;
  out->push_back('\n');
  out->append(static_cast<size_t>(indent * depth), ' ');
}

void DumpValue(const Json& json, int indent, int depth, std::string* out);

void DumpDouble(double value, std::string* out) {
  CHECK(std::isfinite(value));
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  *out += text;
}

template <typename Range, typename DumpItem>
void DumpRange(const Range& range, char open, char close, int indent, int depth, std::string* out,
               const DumpItem& dump_item) {
  out->push_back(open);
  bool first = true;
  for (const auto& item : range) {
    if (!first) *out += indent < 0 ? ", " : ",";
    first = false;
    NewLine(indent, depth + 1, out);
    dump_item(item);
  }
  if (!first) NewLine(indent, depth, out);
  out->push_back(close);
}

void DumpValue(const Json& json, int indent, int depth, std::string* out) {
  if (json.is_null()) {
    *out += "null";
  } else if (json.is_bool()) {
    *out += json.as_bool() ? "true" : "false";
  } else if (json.is_int()) {
    *out += fmt::format("{}", json.as_int());
  } else if (json.is_number()) {
    DumpDouble(json.as_double(), out);
  } else if (json.is_string()) {
    DumpString(json.as_string(), out);
  } else if (json.is_array()) {
    DumpRange(json.array(), '[', ']', indent, depth, out,
              [&](const Json& item) { DumpValue(item, indent, depth + 1, out); });
  } else {
    DumpRange(json.object(), '{', '}', indent, depth, out, [&](const Json::Member& member) {
      DumpString(member.first, out);
      *out += ": ";
      DumpValue(member.second, indent, depth + 1, out);
    });
  }
}

}  // namespace

bool Json::as_bool() const {
  CHECK(is_bool());
  return std::get<bool>(value_);
}

int64_t Json::as_int() const {
  CHECK(is_int());
  return std::get<int64_t>(value_);
}

double Json::as_double() const {
  CHECK(is_number());
  return is_int() ? static_cast<double>(std::get<int64_t>(value_)) : std::get<double>(value_);
}

const std::string& Json::as_string() const {
  CHECK(is_string());
  return std::get<std::string>(value_);
}

const Json::Array& Json::array() const {
  CHECK(is_array());
  return std::get<Array>(value_);
}

const Json::Object& Json::object() const {
  CHECK(is_object());
  return std::get<Object>(value_);
}

Json::Array& Json::array() {
  CHECK(is_array());
  return std::get<Array>(value_);
}

Json::Object& Json::object() {
  CHECK(is_object());
  return std::get<Object>(value_);
}

Result<void> Json::AllowKeys(const std::vector<std::string_view>& allowed) const {
  for (const auto& [key, value] : object()) {
    if (std::ranges::find(allowed, key) == allowed.end()) {
      return Fail(ErrorKind::kInput, fmt::format("key '{}' is unknown; known keys: {}", key,
                                                 fmt::join(allowed, ", ")));
    }
  }
  return {};
}

const Json* Json::Find(std::string_view key) const {
  if (!is_object()) return nullptr;
  const auto found = std::ranges::find(object(), key, &Member::first);
  return found == object().end() ? nullptr : &found->second;
}

Result<int64_t> Json::Int(std::string_view key) const {
  return TRY(Typed(*this, key, &Json::is_int, "an integer"))->as_int();
}

Result<double> Json::Double(std::string_view key) const {
  return TRY(Typed(*this, key, &Json::is_number, "a number"))->as_double();
}

Result<std::string> Json::String(std::string_view key) const {
  return TRY(Typed(*this, key, &Json::is_string, "a string"))->as_string();
}

Result<bool> Json::Bool(std::string_view key) const {
  return TRY(Typed(*this, key, &Json::is_bool, "a boolean"))->as_bool();
}

Result<const Json*> Json::ArrayAt(std::string_view key) const {
  return Typed(*this, key, &Json::is_array, "a list");
}

Result<const Json*> Json::ObjectAt(std::string_view key) const {
  return Typed(*this, key, &Json::is_object, "an object");
}

Json& Json::Set(std::string_view key, Json value) {
  const auto found = std::ranges::find(object(), key, &Member::first);
  if (found == object().end()) {
    object().emplace_back(std::string(key), std::move(value));
  } else {
    found->second = std::move(value);
  }
  return *this;
}

Json& Json::Push(Json value) {
  array().push_back(std::move(value));
  return *this;
}

std::string Json::Dump(int indent) const {
  std::string out;
  DumpValue(*this, indent, 0, &out);
  return out;
}

}  // namespace roofmark
