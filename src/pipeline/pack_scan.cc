// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <optional>

#include "base/text.h"
#include "pipeline/pack_alias_internal.h"
#include "pipeline/pack_scan_internal.h"

namespace roofmark::pipeline {
namespace {

// Shorter host and user names occur in any text by chance.
constexpr size_t kShortestName = 4;

// Shorter values occur in any text by chance.
constexpr size_t kShortestSecret = 8;
constexpr size_t kShortestFolder = 5;
constexpr std::array<std::string_view, 6> kSecretNames = {"KEY",      "TOKEN",  "SECRET",
                                                          "PASSWORD", "PASSWD", "CREDENTIAL"};
constexpr std::array<std::string_view, 5> kFolderNames = {"HOME", "PWD", "TMPDIR", "VIRTUAL_ENV",
                                                          "ROOFMARK_DATA"};

// Where absolute paths begin. A bundle is read elsewhere, so none of them can be right in it.
constexpr std::array<std::string_view, 17> kRoots = {
    "/home/", "/root/", "/Users/", "/tmp/",  "/var/", "/opt/", "/mnt/",     "/data/", "/srv/",
    "/usr/",  "/etc/",  "/proc/",  "/work/", "/dev/", "/sys/", "/scratch/", "/media/"};

constexpr std::array<std::string_view, 6> kTimeUnits = {"ns", "us", "ms", "usec", "msec", "nsec"};

bool IsWordChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

// By the name of an environment variable: a value that nobody else may see.
bool IsSecretName(std::string_view name) {
  return std::ranges::any_of(kSecretNames, [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  });
}

bool IsFolderName(std::string_view name) {
  return std::ranges::find(kFolderNames, name) != kFolderNames.end();
}

// A run of letters, digits, '_' and '-'.
struct Word {
  size_t begin = 0;
  size_t end = 0;
  std::string_view In(std::string_view line) const { return line.substr(begin, end - begin); }
};

std::vector<Word> WordsOf(std::string_view line) {
  std::vector<Word> words;
  for (size_t at = 0; at < line.size();) {
    if (!IsWordChar(line[at])) {
      ++at;
      continue;
    }
    const size_t begin = at;
    while (at < line.size() && IsWordChar(line[at])) ++at;
    words.push_back({begin, at});
  }
  return words;
}

std::string Bare(std::string_view word) {
  std::string bare = Squeeze(word);
  std::erase_if(bare, [](char c) { return c == '_' || c == '-'; });
  return bare;
}

// Whether a word stands as a key: followed by ':' or '=' (but not '=='), or in table brackets.
bool IsKey(std::string_view line, const Word& word) {
  if (word.begin > 0 && line[word.begin - 1] == '[' && word.end < line.size() &&
      line[word.end] == ']') {
    return Trim(line.substr(0, word.begin)).find_first_not_of('[') == std::string_view::npos;
  }
  size_t at = word.end;
  while (at < line.size() && (line[at] == '"' || line[at] == '\'' || line[at] == ' ')) ++at;
  if (at >= line.size() || (line[at] != ':' && line[at] != '=')) return false;
  return line[at] == ':' || at + 1 >= line.size() || line[at + 1] != '=';
}

std::optional<std::string> HiddenName(std::string_view line) {
  for (const Word& word : WordsOf(line)) {
    const std::string bare = Bare(word.In(line));
    if (std::ranges::find(kHiddenNames, bare) != kHiddenNames.end() ||
        (std::ranges::find(kHiddenKeys, bare) != kHiddenKeys.end() && IsKey(line, word))) {
      return fmt::format("names a hidden fact: '{}'", word.In(line));
    }
  }
  // Spelt with spaces: "speed of light", "call count".
  const std::string squeezed = Squeeze(line);
  if (squeezed.find("speedoflight") != std::string::npos) {
    return "names a hidden fact: 'speed of light'";
  }
  return std::nullopt;
}

std::optional<std::string> HiddenNumber(std::string_view line, const Scanner& scanner) {
  for (const NumberToken& token : FindNumbers(line)) {
    if (scanner.allowed.contains(token.value)) continue;
    for (const HiddenFigure& figure : scanner.hidden.figures) {
      if (GivesAway(token, figure.value)) {
        return fmt::format("{} gives away {}", token.written, figure.what);
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> TimeWithUnit(std::string_view line) {
  for (size_t at = 0; at < line.size(); ++at) {
    if (std::isdigit(static_cast<unsigned char>(line[at])) == 0) continue;
    size_t unit = at + 1;
    if (unit < line.size() && line[unit] == ' ') ++unit;
    const size_t micro = line.substr(unit).starts_with("\xC2\xB5") ? 2 : 0;  // the sign for 1e-6
    size_t end = unit + micro;
    while (end < line.size() && std::isalpha(static_cast<unsigned char>(line[end])) != 0) ++end;
    const std::string_view name = line.substr(unit + micro, end - unit - micro);
    const bool known =
        micro > 0 ? name == "s" : std::ranges::find(kTimeUnits, name) != kTimeUnits.end();
    if (known && (end == line.size() || !IsWordChar(line[end]))) {
      size_t begin = at;
      while (begin > 0 && (std::isdigit(static_cast<unsigned char>(line[begin - 1])) != 0 ||
                           line[begin - 1] == '.')) {
        --begin;
      }
      return fmt::format("states a time: '{}'", line.substr(begin, end - begin));
    }
  }
  return std::nullopt;
}

std::optional<std::string> SourceText(std::string_view line, const Hidden& hidden) {
  const std::string squeezed = Squeeze(line);
  for (const std::string& text : hidden.texts) {
    if (squeezed.find(text) != std::string::npos) {
      return fmt::format("holds a hidden formula or source: '{}'", text);
    }
  }
  if (const auto name = FindName(line, hidden.names)) {
    return fmt::format("names the operator behind the alias: '{}'", *name);
  }
  for (const Word& word : WordsOf(line)) {
    const std::string lower = Squeeze(word.In(line));
    if (std::ranges::find(hidden.words, lower) != hidden.words.end()) {
      return fmt::format("names a hidden source or shape: '{}'", word.In(line));
    }
  }
  return std::nullopt;
}

// True when a path could begin here, and this is no part of a longer relative path or an address.
bool StartsPath(std::string_view line, size_t at) {
  if (at == 0) return true;
  const char before = line[at - 1];
  return !IsWordChar(before) && before != '.' && before != '/' && before != '>';
}

std::optional<std::string> Place(std::string_view line, const Surroundings& surroundings) {
  for (size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '/' && StartsPath(line, at)) {
      for (const std::string_view root : kRoots) {
        const std::string_view bare = root.substr(0, root.size() - 1);
        const std::string_view rest = line.substr(at);
        const bool ends = rest.starts_with(bare) &&
                          (rest.size() == bare.size() || !IsWordChar(rest[bare.size()]));
        if (ends) return fmt::format("holds a path of a machine: '{}...'", root);
      }
    }
    if (line[at] == '~' && at + 1 < line.size() && line[at + 1] == '/') {
      return "holds a path of a machine: '~/...'";
    }
    if (std::isalpha(static_cast<unsigned char>(line[at])) != 0 &&
        (at == 0 || !IsWordChar(line[at - 1])) && line.substr(at + 1).starts_with(":\\")) {
      return "holds a path of a machine: a drive letter";
    }
  }
  for (const auto& [variable, value] : surroundings.values) {
    if (line.find(value) != std::string_view::npos) {
      return fmt::format("holds the value of this environment's {}", variable);
    }
  }
  for (const Word& word : WordsOf(line)) {
    const auto& names = surroundings.words;
    if (std::ranges::find(names, word.In(line)) != names.end()) {
      return fmt::format("names this machine or its user: '{}'", word.In(line));
    }
  }
  return std::nullopt;
}

}  // namespace

Surroundings LookAround() {
  Surroundings around;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) {
    const std::string_view name(host.data());
    around.words.emplace_back(name);
    around.words.emplace_back(name.substr(0, name.find('.')));
  }
  if (const passwd* entry = ::getpwuid(::geteuid())) around.words.emplace_back(entry->pw_name);
  for (const char* variable : {"USER", "LOGNAME", "SUDO_USER"}) {
    if (const char* value = std::getenv(variable)) around.words.emplace_back(value);
  }
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    const std::string_view value = text.substr(equals + 1);
    const bool telling = IsSecretName(name) ? value.size() >= kShortestSecret
                                            : IsFolderName(name) && value.size() >= kShortestFolder;
    if (telling) around.values.emplace_back(name, value);
  }
  // "root" is a word of mathematics and "localhost" of everybody.
  std::erase_if(around.words, [](const std::string& word) {
    return word.size() < kShortestName || word == "root" || word == "localhost";
  });
  return around;
}

std::vector<Finding> Scanner::ScanText(const std::string& path, std::string_view text) const {
  std::vector<Finding> findings;
  if (text.find('\0') != std::string_view::npos) {
    findings.push_back({path, 0, "is not text, so nobody can tell what it holds"});
  }
  size_t line_number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++line_number;
    for (std::optional<std::string> what :
         {HiddenName(line), HiddenNumber(line, *this), TimeWithUnit(line), SourceText(line, hidden),
          Place(line, surroundings)}) {
      if (what) findings.push_back({path, line_number, *std::move(what)});
    }
  }
  return findings;
}

std::vector<Finding> Scanner::ScanName(const std::string& path) const {
  std::vector<Finding> findings;
  std::string words = path;  // separators of a path are separators of words here
  std::ranges::replace_if(words, [](char c) { return c == '/' || c == '.'; }, ' ');
  for (std::optional<std::string> what : {HiddenName(words), HiddenNumber(words, *this),
                                          SourceText(words, hidden), Place(words, surroundings)}) {
    if (what) findings.push_back({path, 0, "its name " + *std::move(what)});
  }
  return findings;
}

std::vector<Finding> ScanForHidden(const std::map<std::string, std::string>& files,
                                   const Hidden& hidden, const std::vector<BundleFile>& made) {
  const Surroundings surroundings = LookAround();
  Scanner scanner{.hidden = hidden, .surroundings = surroundings, .allowed = {}};
  for (const BundleFile& file : made) {
    const std::string name = file.path.substr(file.path.rfind('/') + 1);
    if (name == "shapes.jsonl" || name == "contract.json") {
      scanner.allowed.merge(NumbersIn(file.text));
    }
  }
  std::vector<Finding> findings;
  for (const auto& [path, text] : files) {
    std::ranges::move(scanner.ScanName(path), std::back_inserter(findings));
    std::ranges::move(scanner.ScanText(path, text), std::back_inserter(findings));
  }
  return findings;
}

std::set<double> NumbersIn(std::string_view text) {
  std::set<double> values;
  for (const NumberToken& token : FindNumbers(text)) values.insert(token.value);
  return values;
}

}  // namespace roofmark::pipeline
