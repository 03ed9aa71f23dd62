// SPDX-License-Identifier: Apache-2.0
// The only user of muParser. Its exceptions end here.
#include "suite/expression.h"

#include <fmt/format.h>
#include <muParser.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"

namespace roofmark::suite {
namespace {

constexpr std::array<std::string_view, 7> kReserved = {"ceil_div", "ceil", "min", "max",
                                                       "log2",     "L",    "M"};

// Exact for integers up to 2^53, where rounding a / b up would not be.
double CeilDiv(double a, double b) {
  const double rest = std::fmod(a, b);
  return (a - rest) / b + (rest > 0 ? 1 : 0);
}
double Min(const double* values, int count) {
  return *std::min_element(values, values + count);
}
double Max(const double* values, int count) {
  return *std::max_element(values, values + count);
}
// A power such as (1 - k/E)^T is rounded, and a whole number must not become the next one.
double Ceil(double x) {
  const double nearest = std::round(x);
  return std::fabs(x - nearest) <= 1e-9 * std::max(1.0, std::fabs(x)) ? nearest : std::ceil(x);
}
double Log2(double x) {
  return std::log2(x);
}

// muParser would let a formula assign to its axes.
bool Assigns(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') continue;
    const char before = i > 0 ? text[i - 1] : ' ';
    const bool doubled = i + 1 < text.size() && text[i + 1] == '=';
    if (doubled) {
      ++i;
    } else if (before != '<' && before != '>' && before != '!') {
      return true;
    }
  }
  return false;
}

Result<int64_t> ExactSize(double value, const std::string& text) {
  if (value < 0 || value != std::floor(value)) {
    return Fail(ErrorKind::kInput,
                fmt::format("'{}' is {}, and a size is a whole number of at least 0", text, value));
  }
  if (value > kLargestExactInteger) {
    return Fail(ErrorKind::kInput,
                fmt::format("'{}' is {}: sizes over 2^53 are not exact", text, value));
  }
  return static_cast<int64_t>(value);
}

}  // namespace

struct Expression::Compiled {
  mu::Parser parser;
  std::vector<double> values;  // in the order of names_; the parser reads them
};

Expression::Expression(std::string text)
    : text_(std::move(text)), compiled_(std::make_unique<Compiled>()) {}
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

Result<Expression> Expression::Parse(std::string_view text) {
  if (Assigns(text)) {
    return Fail(ErrorKind::kInput, fmt::format("'{}' assigns; an expression only computes", text));
  }
  Expression expression{std::string(text)};
  mu::Parser& parser = expression.compiled_->parser;
  try {
    parser.ClearFun();
    parser.ClearConst();
    parser.DefineFun("ceil_div", CeilDiv);
    parser.DefineFun("ceil", Ceil);
    parser.DefineFun("min", Min);
    parser.DefineFun("max", Max);
    parser.DefineFun("log2", Log2);
    parser.SetExpr(expression.text_);
    for (const auto& [name, unused] : parser.GetUsedVar()) expression.names_.push_back(name);
    expression.compiled_->values.resize(expression.names_.size());
    for (size_t i = 0; i < expression.names_.size(); ++i) {
      parser.DefineVar(expression.names_[i], &expression.compiled_->values[i]);
    }
    parser.Eval();
    if (parser.GetNumResults() != 1) {
      return Fail(ErrorKind::kInput, fmt::format("'{}' has more than one value", text));
    }
  } catch (const mu::Parser::exception_type& error) {
    return Fail(ErrorKind::kInput, fmt::format("'{}' is no expression: {} (functions: ceil_div, "
                                               "ceil, min, max, log2)",
                                               text, error.GetMsg()));
  }
  return expression;
}

Result<void> Expression::Bind(const Scope& scope, std::string_view except_l,
                              std::string_view except_m) const {
  for (size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == except_l || names_[i] == except_m) continue;
    const auto found = scope.find(names_[i]);
    if (found == scope.end()) {
      std::vector<std::string_view> known;
      for (const auto& [name, unused] : scope) known.push_back(name);
      return Fail(ErrorKind::kInput, fmt::format("'{}' names '{}', which has no value (known: {})",
                                                 text_, names_[i], fmt::join(known, ", ")));
    }
    compiled_->values[i] = found->second;
  }
  return {};
}

Result<double> Expression::Run() const {
  double value = 0;
  try {
    value = compiled_->parser.Eval();
  } catch (const mu::Parser::exception_type& error) {
    return Fail(ErrorKind::kInput, fmt::format("'{}': {}", text_, error.GetMsg()));
  }
  if (!std::isfinite(value)) {
    return Fail(ErrorKind::kInput, fmt::format("'{}' is {}, which is not finite", text_, value));
  }
  return value;
}

Result<double> Expression::Evaluate(const Scope& scope) const {
  TRY(Bind(scope, "", ""));
  return Run();
}

Result<int64_t> Expression::EvaluateSize(const Scope& scope) const {
  return ExactSize(TRY(Evaluate(scope)), text_);
}

template <typename Fold>
Result<int64_t> Expression::FoldOver(std::span<const int64_t> over, std::span<const int64_t> with,
                                     const Scope& scope, Fold fold) const {
  CHECK(with.empty() || with.size() == over.size());
  TRY(Bind(scope, "L", with.empty() ? "" : "M"));
  double unused = 0;
  const auto slot = [&](std::string_view name) {
    const auto found = std::ranges::find(names_, name);
    return found == names_.end() ? &unused : &compiled_->values[size_t(found - names_.begin())];
  };
  double* const l = slot("L");
  double* const m = with.empty() ? &unused : slot("M");
  double total = 0;
  for (size_t i = 0; i < over.size(); ++i) {
    *l = static_cast<double>(over[i]);
    if (!with.empty()) *m = static_cast<double>(with[i]);
    total = fold(total, static_cast<double>(TRY(ExactSize(TRY(Run()), text_))));
    if (total > kLargestExactInteger) break;
  }
  return ExactSize(total, text_);
}

Result<int64_t> Expression::SumOver(std::span<const int64_t> over, std::span<const int64_t> with,
                                    const Scope& scope) const {
  return FoldOver(over, with, scope, [](double a, double b) { return a + b; });
}

Result<int64_t> Expression::MaxOver(std::span<const int64_t> over, std::span<const int64_t> with,
                                    const Scope& scope) const {
  return FoldOver(over, with, scope, [](double a, double b) { return std::max(a, b); });
}

bool IsUsableName(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) { return letter(c) || digit(c); }) &&
         std::ranges::find(kReserved, name) == kReserved.end();
}

}  // namespace roofmark::suite
