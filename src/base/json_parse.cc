// SPDX-License-Identifier: Apache-2.0
// The only user of nlohmann-json: a SAX handler that builds the Json tree, so that duplicate keys
// and absurd depth are refused while parsing.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/json.h"

namespace roofmark {
namespace {

constexpr size_t kMaxDepth = 200;

class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Add(Json()); }
  bool boolean(bool value) override { return Add(Json(value)); }
  bool number_integer(number_integer_t value) override { return Add(Json(int64_t{value})); }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto kMax = static_cast<uint64_t>(INT64_MAX);
    return Add(value <= kMax ? Json(static_cast<int64_t>(value))
                             : Json(static_cast<double>(value)));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    if (!(value <= 1.7976931348623157e308 && value >= -1.7976931348623157e308)) {
      return Stop("number " + text + " is outside the range of a double");
    }
    return Add(Json(value));
  }
  bool string(string_t& value) override { return Add(Json(std::move(value))); }
  bool binary(binary_t&) override { return Stop("binary value"); }
  bool start_object(std::size_t) override { return Open(Json::MakeObject()); }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(Json::MakeArray()); }
  bool end_array() override { return Close(); }
  bool key(string_t& value) override {
    if (!open_.back().seen.insert(value).second) return Stop("key '" + value + "' appears twice");
    open_.back().key = std::move(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    std::string_view what = error.what();
    if (const size_t close = what.find("] "); close != what.npos) what.remove_prefix(close + 2);
    return Stop(fmt::format("byte {}: {}", position, what));
  }

  std::string problem;
  Json root;

 private:
  struct Level {
    Json value;
    std::string key;
    std::unordered_set<std::string> seen;
  };

  bool Stop(std::string why) {
    if (problem.empty()) problem = std::move(why);
    return false;
  }
  bool Add(Json value) {
    if (open_.empty()) {
      root = std::move(value);
    } else if (open_.back().value.is_array()) {
      open_.back().value.array().push_back(std::move(value));
    } else {
      open_.back().value.object().emplace_back(std::move(open_.back().key), std::move(value));
    }
    return true;
  }
  bool Open(Json value) {
    if (open_.size() >= kMaxDepth) return Stop("nesting is deeper than 200 levels");
    open_.push_back({std::move(value), {}, {}});
    return true;
  }
  bool Close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return Add(std::move(value));
  }

  std::vector<Level> open_;
};

}  // namespace

Result<Json> Json::Parse(std::string_view text) {
  Builder builder;
  try {
    if (nlohmann::json::sax_parse(text.begin(), text.end(), &builder) && builder.problem.empty()) {
      return std::move(builder.root);
    }
  } catch (const std::exception& error) {
    builder.problem = error.what();
  }
  return Fail(ErrorKind::kInput, "not valid JSON: " + builder.problem);
}

}  // namespace roofmark
