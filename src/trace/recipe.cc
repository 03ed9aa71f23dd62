// SPDX-License-Identifier: Apache-2.0
// A recursive descent over a few characters, evaluated as it is read. It runs once per distinct set
// of arguments.
#include "trace/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "trace/event_fields.h"

namespace roofmark::trace {
namespace {

using Value = std::optional<int64_t>;

bool IsSpace(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

// Calls visit(item) with the text of each item of a JSON array.
template <typename Visit>
void ForEachItem(std::string_view array, Visit visit) {
  if (array.size() < 2 || array.front() != '[') return;
  size_t depth = 0;
  bool in_string = false;
  size_t begin = 1;
  for (size_t at = 0; at < array.size(); ++at) {
    const char byte = array[at];
    if (in_string) {
      if (byte == '\\') ++at;
      if (byte == '"') in_string = false;
      continue;
    }
    if (byte == '"') in_string = true;
    if (byte == '[' || byte == '{') ++depth;
    const bool closes = byte == ']' || byte == '}';
    if ((byte == ',' && depth == 1) || (closes && depth == 1)) {
      std::string_view item = array.substr(begin, at - begin);
      while (!item.empty() && IsSpace(item.front())) item.remove_prefix(1);
      while (!item.empty() && IsSpace(item.back())) item.remove_suffix(1);
      if (!item.empty() || byte == ',') visit(item);
      begin = at + 1;
    }
    if (closes && depth > 0) --depth;
  }
}

std::vector<int64_t> ParseSizes(std::string_view item) {
  std::vector<int64_t> sizes;
  bool flat = true;
  ForEachItem(item, [&](std::string_view number) {
    int64_t size = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), size);
    flat = flat && error == std::errc() && end == number.data() + number.size();
    sizes.push_back(size);
  });
  return flat ? sizes : std::vector<int64_t>{};
}

std::vector<std::string> ParseStrings(std::string_view array) {
  std::vector<std::string> out;
  ForEachItem(array, [&](std::string_view item) {
    const bool quoted = item.size() >= 2 && item.front() == '"';
    out.push_back(quoted ? Unescape(item.substr(1, item.size() - 2)) : std::string(item));
  });
  return out;
}

Value Product(const std::vector<int64_t>& sizes, size_t count) {
  int64_t product = 1;
  for (size_t i = 0; i < count; ++i) {
    if (__builtin_mul_overflow(product, sizes[i], &product)) return std::nullopt;
  }
  return product;
}

class Evaluator {
 public:
  Evaluator(std::string_view text, const OpArguments& arguments, const Facts& facts)
      : text_(text), arguments_(arguments), facts_(facts) {}

  Result<Value> Run() {
    const Value value = TRY(Sum());
    if (at_ != text_.size()) return Mistake("an operator");
    return value;
  }

 private:
  std::unexpected<Error> Mistake(std::string_view wanted) const {
    return Fail(ErrorKind::kInput,
                fmt::format("recipe '{}': {} expected at character {}", text_, wanted, at_ + 1));
  }
  char Peek() {
    while (at_ < text_.size() && IsSpace(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Eat(char byte) {
    if (Peek() != byte) return false;
    ++at_;
    Peek();
    return true;
  }

  Result<Value> Sum() {
    Value value = TRY(Term());
    while (Peek() == '+' || Peek() == '-') {
      const bool minus = text_[at_++] == '-';
      const Value right = TRY(Term());
      int64_t result = 0;
      const bool fits = value && right &&
                        !(minus ? __builtin_sub_overflow(*value, *right, &result)
                                : __builtin_add_overflow(*value, *right, &result));
      value = fits ? Value(result) : std::nullopt;
    }
    return value;
  }

  Result<Value> Term() {
    Value value = TRY(Factor());
    while (Peek() == '*' || Peek() == '/') {
      const bool divide = text_[at_++] == '/';
      const Value right = TRY(Factor());
      int64_t result = 0;
      bool fits = value && right;
      if (fits && divide) {
        fits = *right > 0 && *value % *right == 0;
        if (fits) result = *value / *right;
      } else if (fits) {
        fits = !__builtin_mul_overflow(*value, *right, &result);
      }
      value = fits ? Value(result) : std::nullopt;
    }
    return value;
  }

  Result<Value> Factor() {
    if (Eat('(')) {
      const Value value = TRY(Sum());
      if (!Eat(')')) return Mistake("')'");
      return value;
    }
    const char first = Peek();
    if (first == '-' || (first >= '0' && first <= '9')) {
      int64_t number = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), number);
      if (error != std::errc()) return Mistake("a number");
      at_ += static_cast<size_t>(end - begin);
      return number;
    }
    size_t end = at_;
    while (end < text_.size() && (text_[end] == '_' || (text_[end] >= 'a' && text_[end] <= 'z'))) {
      ++end;
    }
    if (end == at_) return Mistake("a number, a name or '('");
    const std::string_view name = text_.substr(at_, end - at_);
    at_ = end;
    if (Peek() == '(') return Call(name);
    const auto fact = facts_.find(name);
    return fact == facts_.end() ? Value() : Value(fact->second);
  }

  Result<Value> Call(std::string_view name) {
    ++at_;
    const Value index = TRY(Sum());
    const bool needs_size = name == "dim";
    Value size;
    if (needs_size) {
      if (!Eat(',')) return Mistake("','");
      size = TRY(Sum());
    }
    if (!Eat(')')) return Mistake("')'");
    if (name == "int") return Scalar(index);
    if (name != "rows" && name != "last" && name != "count" && !needs_size) {
      return Fail(
          ErrorKind::kInput,
          fmt::format("recipe '{}': no function '{}' (rows, last, dim, count, int)", text_, name));
    }
    if (!index || *index < 0 || static_cast<size_t>(*index) >= arguments_.dims.size())
      return Value();
    const std::vector<int64_t>& sizes = arguments_.dims[static_cast<size_t>(*index)];
    if (sizes.empty()) return Value();
    if (name == "rows") return Product(sizes, sizes.size() - 1);
    if (name == "count") return Product(sizes, sizes.size());
    if (name == "last") return Value(sizes.back());
    if (!size) return Value();
    const int64_t at = *size < 0 ? *size + static_cast<int64_t>(sizes.size()) : *size;
    if (at < 0 || at >= static_cast<int64_t>(sizes.size())) return Value();
    return Value(sizes[static_cast<size_t>(at)]);
  }

  Value Scalar(Value index) const {
    if (!index || *index < 0 || static_cast<size_t>(*index) >= arguments_.concrete.size()) {
      return std::nullopt;
    }
    const std::string& text = arguments_.concrete[static_cast<size_t>(*index)];
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
  }

  std::string_view text_;
  size_t at_ = 0;
  const OpArguments& arguments_;
  const Facts& facts_;
};

}  // namespace

OpArguments ParseArguments(std::string_view dims, std::string_view types,
                           std::string_view concrete) {
  OpArguments arguments;
  ForEachItem(dims, [&](std::string_view item) { arguments.dims.push_back(ParseSizes(item)); });
  arguments.types = ParseStrings(types);
  arguments.concrete = ParseStrings(concrete);
  return arguments;
}

Result<std::optional<int64_t>> EvaluateRecipe(std::string_view text, const OpArguments& arguments,
                                              const Facts& facts) {
  return Evaluator(text, arguments, facts).Run();
}

std::vector<std::string> FactsOf(std::string_view recipe) {
  constexpr std::string_view kFunctions[] = {"rows", "last", "dim", "count", "int"};
  const auto begins = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::vector<std::string> facts;
  for (size_t at = 0; at < recipe.size();) {
    if (!begins(recipe[at]) && recipe[at] != '_') {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < recipe.size() && (begins(recipe[end]) || recipe[end] == '_' ||
                                   (recipe[end] >= '0' && recipe[end] <= '9'))) {
      ++end;
    }
    const std::string_view word = recipe.substr(at, end - at);
    if (std::ranges::find(kFunctions, word) == std::end(kFunctions) &&
        std::ranges::find(facts, word) == facts.end()) {
      facts.emplace_back(word);
    }
    at = end;
  }
  return facts;
}

std::string ElementTypeName(std::string_view recorded) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kNames = {{
      {"c10::BFloat16", "bf16"},
      {"c10::Half", "f16"},
      {"float", "f32"},
      {"double", "f64"},
      {"c10::Float8_e4m3fn", "f8_e4m3fn"},
      {"c10::Float8_e4m3fnuz", "f8_e4m3fnuz"},
      {"int", "i32"},
      {"long int", "i64"},
      {"long", "i64"},
      {"unsigned char", "u8"},
      {"signed char", "i8"},
      {"bool", "bool"},
  }};
  for (const auto& [theirs, ours] : kNames) {
    if (theirs == recorded) return std::string(ours);
  }
  return std::string(recorded);
}

}  // namespace roofmark::trace
