// SPDX-License-Identifier: Apache-2.0
// The declarative rules of rules/*.toml: which operator a framework's operator or kernel is, and
// how its shape is read. docs/formats.md describes the files.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/shape.h"

namespace roofmark::trace {

// How much a framework operator's name says.
enum class OpLevel {
  kOperator,   // it is that operator, and so is every kernel inside it
  kContainer,  // it holds several operators: kernels that have a name of their own come first
  kGeneric,    // glue such as a copy: anything else that claims the kernel comes first
};

struct OpRule {
  std::string op;  // operator of the catalogue
  OpLevel level = OpLevel::kOperator;
  std::vector<std::pair<std::string, std::string>> axes;  // axis, recipe
  // Query and context lengths come from the step's label; these recipes give their maxima.
  bool lengths = false;
  std::string max_q;
  std::string max_k;
  std::map<std::string, int64_t> dtypes;                   // tensor of the card -> argument
  std::vector<std::pair<std::string, std::string>> facts;  // told to other recipes of the profile
  // Only of calls with that many arguments of two sizes or more; others ask `otherwise`.
  std::optional<int64_t> matrices;
  const OpRule* otherwise = nullptr;  // the next rule of the same names; nullptr: none
  std::string name;                   // that matched, for messages
  std::string where;                  // "vllm.toml: op 3"

  // Whether a call's sizes, types or scalars tell anything by this rule.
  bool AsksForArguments() const {
    return !axes.empty() || lengths || !dtypes.empty() || !facts.empty();
  }
};

struct KernelRule {
  std::string op;
  OpLevel level = OpLevel::kOperator;
  bool auxiliary = false;  // runs beside the operator's main kernel and does not count as a call
  Phase phase = Phase::kUnknown;
  std::string where;  // "kernels.toml: kernel 12"
};

class Rules {
 public:
  // Reads every .toml of a folder, in order of name. Errors: kNotFound, kIo, and kInput with file
  // and rule for unknown keys, recipes and regular expressions that do not parse, and names that
  // are claimed twice.
  static Result<Rules> Load(const std::filesystem::path& folder);
  // DataDir()/rules.
  static Result<Rules> LoadDefault();

  Rules(Rules&&) noexcept;
  Rules& operator=(Rules&&) noexcept;
  ~Rules();

  // The rule of a framework operator, nullptr where none names it. It may be one of several that
  // differ by what they ask of a call (OpRule::matrices).
  const OpRule* FindOp(std::string_view name) const;
  // The first rule that matches a kernel's name, nullptr where none does.
  const KernelRule* FindKernel(std::string_view name) const;

 private:
  struct State;
  explicit Rules(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace roofmark::trace
