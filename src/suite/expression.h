// SPDX-License-Identifier: Apache-2.0
// Closed expressions of an operator's card: sizes, work and traffic over axes. muParser evaluates
// them in doubles; this wrapper lets only what a card may use through: names that the caller binds,
// the operators of arithmetic (^ is a power) and comparison, and the functions ceil_div(a, b),
// ceil, min, max and log2.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace roofmark::suite {

// The values that an expression may name.
using Scope = std::map<std::string, double, std::less<>>;

// Integers above this are not exact as doubles.
inline constexpr double kLargestExactInteger = 9007199254740992.0;  // 2^53

class Expression {
 public:
  // Errors: kInput with the text and what is wrong with it (syntax, an unknown function, an
  // assignment, more than one value).
  static Result<Expression> Parse(std::string_view text);
  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;
  ~Expression();

  const std::string& text() const { return text_; }
  // The free names in it, sorted.
  const std::vector<std::string>& names() const { return names_; }

  // Errors: kInput where a name has no value in the scope, or the result is not finite.
  Result<double> Evaluate(const Scope& scope) const;
  // The same, and the result must be a whole number from 0 to 2^53.
  Result<int64_t> EvaluateSize(const Scope& scope) const;

  // Sum of the expression over a list, with L bound to each entry and M to the entry of `with` at
  // the same place (`with` is empty or as long). Each summand and the sum must be exact: whole
  // numbers from 0 to 2^53. The maximum of an empty list is 0.
  Result<int64_t> SumOver(std::span<const int64_t> over, std::span<const int64_t> with,
                          const Scope& scope) const;
  Result<int64_t> MaxOver(std::span<const int64_t> over, std::span<const int64_t> with,
                          const Scope& scope) const;

 private:
  struct Compiled;
  explicit Expression(std::string text);
  Result<void> Bind(const Scope& scope, std::string_view except_l, std::string_view except_m) const;
  Result<double> Run() const;
  template <typename Fold>
  Result<int64_t> FoldOver(std::span<const int64_t> over, std::span<const int64_t> with,
                           const Scope& scope, Fold fold) const;

  std::string text_;
  std::vector<std::string> names_;
  std::unique_ptr<Compiled> compiled_;
};

// Letters, digits and underscores, not starting with a digit, and not the name of a function or of
// a list entry (L, M): what an axis, attribute or tensor may be called.
bool IsUsableName(std::string_view name);

}  // namespace roofmark::suite
