// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "pipeline/pack_alias_internal.h"
#include "suite/expression.h"

namespace roofmark::pipeline {
namespace {

// Shorter names are parts of ordinary words: "rope" of "property".
constexpr size_t kTellingLength = 6;

bool IsAlnum(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}
bool IsSeparator(char c) {
  return c == '_' || c == '-' || c == ' ';
}
char Lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

// Where the name, spelt with or without separators and in any case, ends if it begins at `at`;
// nullopt where it does not.
std::optional<size_t> SpeltAt(std::string_view text, size_t at, std::string_view name) {
  size_t end = at;
  for (const char c : name) {
    if (c == '_') {
      if (end < text.size() && IsSeparator(text[end])) ++end;
    } else if (end < text.size() && Lower(text[end]) == Lower(c)) {
      ++end;
    } else {
      return std::nullopt;
    }
  }
  return end;
}

bool StandsAlone(std::string_view text, size_t begin, size_t end) {
  return (begin == 0 || !IsAlnum(text[begin - 1])) && (end == text.size() || !IsAlnum(text[end]));
}

// An attribute of something that is not ours.
bool IsForeign(std::string_view text, size_t at) {
  if (at < 2 || text[at - 1] != '.' || !(IsAlnum(text[at - 2]) || text[at - 2] == '_')) {
    return false;
  }
  return !text.substr(0, at).ends_with("roofmark_ref.");
}

std::string Bare(std::string_view text) {
  std::string bare;
  for (const char c : text) {
    if (!IsSeparator(c)) bare += Lower(c);
  }
  return bare;
}

// A word of letters, digits, '_' and '-' that holds the name somewhere inside.
std::optional<std::string> FindInside(std::string_view text, const std::string& bare_name) {
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && (IsAlnum(text[end]) || text[end] == '_' || text[end] == '-')) ++end;
    const std::string_view word = text.substr(at, end - at);
    if (Bare(word).find(bare_name) != std::string::npos) return std::string(word);
    at = std::max(end, at + 1);
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> NamesBehind(const Operator& op) {
  std::vector<std::string> names = {op.name};
  if (!op.variant_of.empty()) names.push_back(op.variant_of);
  std::ranges::sort(names, std::greater<>(), &std::string::size);
  return names;
}

std::string Renamed(std::string_view text, const std::vector<std::string>& names,
                    std::string_view alias) {
  std::string renamed;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    for (const std::string& name : names) {
      const std::optional<size_t> spelt = SpeltAt(text, at, name);
      if (spelt && StandsAlone(text, at, *spelt) && !IsForeign(text, at)) {
        end = *spelt;
        break;
      }
    }
    if (end > at) {
      renamed += alias;
      at = end;
    } else {
      renamed += text[at++];
    }
  }
  return renamed;
}

std::optional<std::string> FindName(std::string_view text, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (size_t at = 0; at < text.size(); ++at) {
      const std::optional<size_t> end = SpeltAt(text, at, name);
      if (end && StandsAlone(text, at, *end)) return std::string(text.substr(at, *end - at));
    }
    const std::string bare = Bare(name);
    if (bare.size() < kTellingLength) continue;
    if (auto word = FindInside(text, bare)) return word;
  }
  return std::nullopt;
}

Result<void> CheckAlias(const Operator& op, const std::string& alias, bool known) {
  if (!suite::IsUsableName(alias)) {
    return Fail(ErrorKind::kInput,
                fmt::format("alias '{}' must be letters, digits and underscores", alias));
  }
  if (FindName(alias, NamesBehind(op))) {
    return Fail(ErrorKind::kInput,
                fmt::format("alias '{}' shows the name that it is to hide, '{}'", alias, op.name));
  }
  if (known) {
    return Fail(
        ErrorKind::kInput,
        fmt::format("alias '{}' is the name of another operator; choose one that is not", alias));
  }
  return {};
}

}  // namespace roofmark::pipeline
