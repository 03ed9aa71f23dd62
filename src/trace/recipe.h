// SPDX-License-Identifier: Apache-2.0
// Shape recipes: how the arguments that a profile records for a framework's operator give the axes
// of ours. They are text in rules/*.toml, so that a new framework needs no new code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace roofmark::trace {

// The recorded arguments of one call, by position.
struct OpArguments {
  std::vector<std::vector<int64_t>> dims;  // empty for scalars and for lists of tensors
  std::vector<std::string> types;
  std::vector<std::string> concrete;  // scalar arguments as text
};

// From the texts of "Input Dims", "Input type" and "Concrete Inputs"; what does not read stays
// empty.
OpArguments ParseArguments(std::string_view dims, std::string_view types,
                           std::string_view concrete);

// Numbers that other operators of the profile told (the page size of the cache).
using Facts = std::map<std::string, int64_t, std::less<>>;

// Evaluates + - * / (exact) and parentheses over whole numbers, facts by name, and
//   rows(i)    product of all sizes of argument i but the last
//   last(i)    its last size
//   dim(i, j)  its size j, from the end where negative
//   count(i)   product of all its sizes
//   int(i)     scalar argument i
// Nothing where an argument or fact is missing, a division leaves a rest, or a number overflows.
// Errors: kInput with the text and the place where it does not parse.
Result<std::optional<int64_t>> EvaluateRecipe(std::string_view text, const OpArguments& arguments,
                                              const Facts& facts);

// The facts that a recipe asks for, each once, in their order.
std::vector<std::string> FactsOf(std::string_view recipe);

// "c10::BFloat16" -> "bf16", "float" -> "f32", ...: our name of a recorded element type, or the
// recorded one where we have none.
std::string ElementTypeName(std::string_view recorded);

}  // namespace roofmark::trace
