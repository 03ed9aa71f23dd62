// SPDX-License-Identifier: Apache-2.0
// Loading and matching. Kernel names are long and rules are many, so a rule first looks for a plain
// text and runs its regular expression only then; callers ask once per distinct name.
#include "trace/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <regex>
#include <unordered_map>

#include "base/files.h"
#include "trace/recipe.h"

namespace roofmark::trace {
namespace {

// Which sequences of three bytes a text holds, hashed: a text whose sequences are not all there is
// not contained.
class Trigrams {
 public:
  explicit Trigrams(std::string_view text) {
    for (size_t at = 0; at + 3 <= text.size(); ++at) bits_.set(Slot(text, at));
  }
  bool MayContain(std::string_view part) const {
    for (size_t at = 0; at + 3 <= part.size(); ++at) {
      if (!bits_.test(Slot(part, at))) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kSlots = 4096;
  static size_t Slot(std::string_view text, size_t at) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
    return (byte(0) * 961U + byte(1) * 31U + byte(2)) % kSlots;
  }
  std::bitset<kSlots> bits_;
};

struct KernelMatcher {
  std::vector<std::string> contains;     // any of them
  std::vector<std::string> starts_with;  // or any of these
  std::optional<std::regex> regex;       // and this, where given
  KernelRule rule;

  bool Matches(std::string_view name, const Trigrams& trigrams) const {
    const auto holds = [&](const std::string& part) {
      return trigrams.MayContain(part) && name.find(part) != std::string_view::npos;
    };
    const auto begins = [&](const std::string& part) { return name.starts_with(part); };
    if (!std::ranges::any_of(contains, holds) && !std::ranges::any_of(starts_with, begins)) {
      return false;
    }
    return !regex || std::regex_search(name.begin(), name.end(), *regex);
  }
};

std::unexpected<Error> Bad(const std::string& where, const std::string& what) {
  return Fail(ErrorKind::kInput, where + ": " + what);
}

// A text or a list of texts; empty where the key is absent.
Result<std::vector<std::string>> Texts(const Json& table, std::string_view key) {
  std::vector<std::string> texts;
  const Json* value = table.Find(key);
  if (value == nullptr) return texts;
  const Json::Array items = value->is_array() ? value->array() : Json::Array{*value};
  for (const Json& item : items) {
    if (!item.is_string() || item.as_string().empty()) {
      return Fail(ErrorKind::kInput, fmt::format("{} must be texts that are not empty", key));
    }
    texts.push_back(item.as_string());
  }
  return texts;
}

Result<std::string> OptionalText(const Json& table, std::string_view key) {
  return table.Find(key) == nullptr ? std::string() : TRY(table.String(key));
}

Result<std::optional<std::regex>> OptionalRegex(const Json& table) {
  std::optional<std::regex> compiled;
  const std::string regex = TRY(OptionalText(table, "regex"));
  if (regex.empty()) return compiled;
  try {
    compiled.emplace(regex, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    return Fail(ErrorKind::kInput, fmt::format("regex '{}': {}", regex, error.what()));
  }
  return compiled;
}

Result<OpLevel> Level(const Json& table) {
  const std::string level = TRY(OptionalText(table, "level"));
  if (level.empty() || level == "operator") return OpLevel::kOperator;
  if (level == "container") return OpLevel::kContainer;
  if (level == "generic") return OpLevel::kGeneric;
  return Fail(ErrorKind::kInput,
              fmt::format("level '{}' is none of operator, container, generic", level));
}

// Parsing against no arguments finds mistakes in the text.
Result<void> CheckRecipe(const std::string& recipe) {
  if (!recipe.empty()) TRY(EvaluateRecipe(recipe, {}, {}));
  return {};
}

using Recipes = std::vector<std::pair<std::string, std::string>>;

Result<Recipes> ReadRecipes(const Json& table, std::string_view key) {
  Recipes recipes;
  const Json* value = table.Find(key);
  if (value == nullptr) return recipes;
  if (!value->is_object()) return Fail(ErrorKind::kInput, fmt::format("{} must be a table", key));
  for (const auto& [name, recipe] : value->object()) {
    if (!recipe.is_string() && !recipe.is_int()) {
      return Fail(ErrorKind::kInput, fmt::format("{}.{} must be a recipe", key, name));
    }
    recipes.emplace_back(name,
                         recipe.is_int() ? std::to_string(recipe.as_int()) : recipe.as_string());
    TRY(CheckRecipe(recipes.back().second));
  }
  return recipes;
}

Result<OpRule> ReadOpRule(const Json& table) {
  if (!table.is_object()) return Fail(ErrorKind::kInput, "a rule must be a table");
  TRY(table.AllowKeys({"name", "starts_with", "regex", "matrices", "operator", "level", "axes",
                       "lengths", "dtypes", "facts", "note"}));
  OpRule rule;
  if (table.Find("matrices") != nullptr) rule.matrices = TRY(table.Int("matrices"));
  rule.op = TRY(table.String("operator"));
  rule.level = TRY(Level(table));
  rule.axes = TRY(ReadRecipes(table, "axes"));
  rule.facts = TRY(ReadRecipes(table, "facts"));
  if (table.Find("lengths") != nullptr) {
    const Json* lengths = TRY(table.ObjectAt("lengths"));
    TRY(lengths->AllowKeys({"max_q", "max_k"}));
    rule.lengths = true;
    rule.max_q = TRY(OptionalText(*lengths, "max_q"));
    rule.max_k = TRY(OptionalText(*lengths, "max_k"));
    TRY(CheckRecipe(rule.max_q));
    TRY(CheckRecipe(rule.max_k));
  }
  if (table.Find("dtypes") != nullptr) {
    for (const auto& [tensor, argument] : TRY(table.ObjectAt("dtypes"))->object()) {
      if (!argument.is_int() || argument.as_int() < 0) {
        return Fail(ErrorKind::kInput, fmt::format("dtypes.{} must be an argument", tensor));
      }
      rule.dtypes[tensor] = argument.as_int();
    }
  }
  return rule;
}

Result<KernelMatcher> ReadKernelRule(const Json& table) {
  if (!table.is_object()) return Fail(ErrorKind::kInput, "a rule must be a table");
  TRY(table.AllowKeys(
      {"contains", "starts_with", "regex", "operator", "level", "role", "phase", "note"}));
  KernelMatcher matcher;
  matcher.rule.op = TRY(table.String("operator"));
  matcher.rule.level = TRY(Level(table));
  matcher.contains = TRY(Texts(table, "contains"));
  matcher.starts_with = TRY(Texts(table, "starts_with"));
  if (matcher.contains.empty() && matcher.starts_with.empty()) {
    return Fail(ErrorKind::kInput, "contains or starts_with is needed");
  }
  const std::string role = TRY(OptionalText(table, "role"));
  if (role != "" && role != "main" && role != "aux") {
    return Fail(ErrorKind::kInput, fmt::format("role '{}' is neither main nor aux", role));
  }
  matcher.rule.auxiliary = role == "aux";
  const std::string phase = TRY(OptionalText(table, "phase"));
  if (!phase.empty()) matcher.rule.phase = TRY(ParsePhase(phase));
  matcher.regex = TRY(OptionalRegex(table));
  return matcher;
}

}  // namespace

// A rule for operators whose names begin so and, where there is one, match the expression.
struct PrefixMatcher {
  std::string prefix;
  std::string regex_text;
  std::optional<std::regex> regex;
  OpRule* rule = nullptr;

  bool Matches(std::string_view name) const {
    return name.starts_with(prefix) &&
           (!regex || std::regex_search(name.begin(), name.end(), *regex));
  }
};

struct Rules::State {
  std::vector<std::unique_ptr<OpRule>> op_rules;
  std::unordered_map<std::string, const OpRule*> by_name;
  std::vector<PrefixMatcher> by_prefix;  // longest first
  std::vector<KernelMatcher> kernels;

  Result<void> AddOp(const Json& table);
  Result<void> AddFile(const fs::path& path);
};

Rules::Rules(std::unique_ptr<State> state) : state_(std::move(state)) {}
Rules::Rules(Rules&&) noexcept = default;
Rules& Rules::operator=(Rules&&) noexcept = default;
Rules::~Rules() = default;

Result<void> Rules::State::AddOp(const Json& table) {
  op_rules.push_back(std::make_unique<OpRule>(TRY(ReadOpRule(table))));
  OpRule& rule = *op_rules.back();
  const std::vector<std::string> names = TRY(Texts(table, "name"));
  const std::vector<std::string> prefixes = TRY(Texts(table, "starts_with"));
  if (names.empty() && prefixes.empty()) {
    return Fail(ErrorKind::kInput, "name or starts_with is needed");
  }
  rule.name = names.empty() ? prefixes.front() : names.front();
  for (const std::string& name : names) {
    if (!by_name.emplace(name, &rule).second) {
      return Fail(ErrorKind::kInput, fmt::format("'{}' is claimed twice", name));
    }
  }
  const std::string regex_text = TRY(OptionalText(table, "regex"));
  if (prefixes.empty() && (rule.matrices || !regex_text.empty())) {
    return Fail(ErrorKind::kInput, "regex and matrices need starts_with");
  }
  for (const std::string& prefix : prefixes) {
    PrefixMatcher matcher{.prefix = prefix, .regex_text = regex_text, .rule = &rule};
    matcher.regex = TRY(OptionalRegex(table));
    // What an earlier rule of the same names leaves is this one's.
    for (PrefixMatcher& earlier : by_prefix) {
      const bool same = earlier.prefix == prefix && earlier.regex_text == regex_text;
      if (!same || earlier.rule->otherwise != nullptr || earlier.rule == &rule) continue;
      if (!earlier.rule->matrices) {
        return Fail(ErrorKind::kInput, fmt::format("'{}' is claimed twice", prefix));
      }
      earlier.rule->otherwise = &rule;
    }
    by_prefix.push_back(std::move(matcher));
  }
  return {};
}

Result<void> Rules::State::AddFile(const fs::path& path) {
  const Json document = TRY(ReadToml(path));
  TRY_IN(document.AllowKeys({"about", "op", "kernel"}), path.string());
  // Rules age with what they describe, so a file must say what that is.
  const Json* about = TRY_IN(document.ObjectAt("about"), path.string());
  TRY_IN(about->String("framework"), path.string() + ": about");
  TRY_IN(about->String("version"), path.string() + ": about");
  const std::string file = path.filename().string();
  size_t number = 0;
  if (document.Find("op") != nullptr) {
    for (const Json& table : TRY(document.ArrayAt("op"))->array()) {
      ++number;
      TRY_IN(AddOp(table), fmt::format("{}: op {}", path.string(), number));
      op_rules.back()->where = fmt::format("{}: op {}", file, number);
    }
  }
  number = 0;
  if (document.Find("kernel") != nullptr) {
    for (const Json& table : TRY(document.ArrayAt("kernel"))->array()) {
      ++number;
      kernels.push_back(
          TRY_IN(ReadKernelRule(table), fmt::format("{}: kernel {}", path.string(), number)));
      kernels.back().rule.where = fmt::format("{}: kernel {}", file, number);
    }
  }
  return {};
}

Result<Rules> Rules::Load(const fs::path& folder) {
  auto state = std::make_unique<State>();
  size_t files = 0;
  for (const fs::path& path : TRY_IN(ListFolder(folder), "rules")) {
    if (path.extension() != ".toml") continue;
    TRY(state->AddFile(path));
    ++files;
  }
  if (files == 0) return Bad(folder.string(), "no .toml in this folder of rules");
  std::ranges::stable_sort(state->by_prefix, std::greater<>(),
                           [](const auto& entry) { return entry.prefix.size(); });
  return Rules(std::move(state));
}

Result<Rules> Rules::LoadDefault() {
  return Load(TRY(DataDir()) / "rules");
}

const OpRule* Rules::FindOp(std::string_view name) const {
  const auto found = state_->by_name.find(std::string(name));
  if (found != state_->by_name.end()) return found->second;
  for (const PrefixMatcher& matcher : state_->by_prefix) {
    if (matcher.Matches(name)) return matcher.rule;
  }
  return nullptr;
}

const KernelRule* Rules::FindKernel(std::string_view name) const {
  const Trigrams trigrams(name);
  for (const KernelMatcher& matcher : state_->kernels) {
    if (matcher.Matches(name, trigrams)) return &matcher.rule;
  }
  return nullptr;
}

}  // namespace roofmark::trace
