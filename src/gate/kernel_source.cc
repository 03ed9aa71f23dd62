// SPDX-License-Identifier: Apache-2.0
#include "gate/kernel_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/ascii.h"
#include "base/files.h"
#include "base/text.h"

namespace roofmark::gate {
namespace {

constexpr uint64_t kMostTextBytes = uint64_t{8} << 20;
constexpr std::string_view kScratch = "/scratch/";

// What stands between the parentheses of "loc(...)" that begins at `at`.
std::string_view InParentheses(std::string_view text, size_t at) {
  const size_t open = text.find('(', at);
  if (open == std::string_view::npos) return {};
  size_t depth = 0;
  bool quoted = false;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted) continue;
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return text.substr(open + 1, i - open - 1);
  }
  return {};
}

// The file of a location: "file":line:column, #alias of one, or "name"(another).
std::string FileOfLocation(std::string_view module, std::string_view location) {
  constexpr int kMostSteps = 16;
  for (int step = 0; step < kMostSteps; ++step) {
    if (location.starts_with('#')) {
      const std::string definition = fmt::format("\n{} = loc(", location);
      const bool first = module.starts_with(std::string_view(definition).substr(1));
      const size_t at = first ? 0 : module.find(definition);
      if (at == std::string_view::npos) return "";
      location = InParentheses(module, at);
    } else if (location.starts_with('"')) {
      const size_t end = location.find('"', 1);
      if (end == std::string_view::npos) return "";
      const std::string_view rest = location.substr(end + 1);
      if (rest.size() > 1 && rest[0] == ':' && IsDigit(rest[1])) {
        return std::string(location.substr(1, end - 1));
      }
      if (!rest.starts_with('(')) return "";
      location = InParentheses(rest, 0);
    } else {
      return "";
    }
  }
  return "";
}

// The lines of a function from "def name(" on, trimmed, until one that is indented no deeper.
std::vector<std::string_view> LinesOfFunction(std::string_view name, std::string_view text) {
  const std::string head = fmt::format("def {}(", name);
  std::vector<std::string_view> lines;
  size_t indent = 0;
  bool in_parameters = true;
  for (const std::string_view line : Split(text, '\n')) {
    const std::string_view trimmed = Trim(line);
    if (trimmed.empty()) continue;
    const size_t depth = line.find_first_not_of(" \t");
    if (lines.empty()) {
      if (!trimmed.starts_with(head)) continue;
      indent = depth;
    } else if (!in_parameters && depth <= indent) {
      break;
    }
    lines.push_back(trimmed);
    if (trimmed.ends_with(':')) in_parameters = false;
  }
  return lines;
}

std::string ReadPlainFile(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(fs::symlink_status(path, ignored))) return "";
  return ReadFile(path, kMostTextBytes).value_or("");
}

// Why this code object was not made of the candidate's source; empty when it was.
std::string WhyForeign(const CachedCode& code, const fs::path& scratch, const OwnSource& own) {
  const std::string kernel = code.path.stem().string();
  std::string module = ReadPlainFile(fs::path(code.path).replace_extension(".ttir"));
  if (module.empty()) module = ReadPlainFile(fs::path(code.path).replace_extension(".ttgir"));
  const std::string file = FileOfKernel(module);
  if (file.empty()) {
    return fmt::format(
        "kernel {}: the intermediate code beside it does not say which source it "
        "was made of",
        kernel);
  }
  const bool lines = code.cubin.find(std::string_view(".py\0", 4)) != std::string_view::npos;
  const std::string name = fs::path(file).filename().string() + '\0';
  if (lines && code.cubin.find(name) == std::string_view::npos) {
    return fmt::format(
        "kernel {}: the intermediate code beside it names {}, which its table of "
        "lines does not",
        kernel, file);
  }
  // A path that goes back may end anywhere.
  const std::string whole = fs::path(file).lexically_normal().string();
  if (std::ranges::any_of(own.folders,
                          [&](const std::string& folder) { return whole.starts_with(folder); })) {
    return "";
  }
  if (whole.starts_with(kScratch) &&
      SameFunction(kernel, ReadPlainFile(scratch / whole.substr(kScratch.size())), own.text)) {
    return "";
  }
  return fmt::format("kernel {} was made of {}, which is no file of the candidate's", kernel, file);
}

}  // namespace

std::string FileOfKernel(std::string_view module) {
  const size_t function = module.find("tt.func public @");
  if (function == std::string_view::npos) return "";
  const size_t end = module.find("\n  } loc(", function);
  return end == std::string_view::npos ? "" : FileOfLocation(module, InParentheses(module, end));
}

bool SameFunction(std::string_view name, std::string_view text, std::string_view other) {
  const std::vector<std::string_view> lines = LinesOfFunction(name, text);
  return lines.size() > 1 && lines == LinesOfFunction(name, other);
}

std::string ForeignSource(const std::vector<CachedCode>& ran, const fs::path& scratch,
                          const OwnSource& own) {
  for (const CachedCode& code : ran) {
    if (std::string why = WhyForeign(code, scratch, own); !why.empty()) return why;
  }
  return "";
}

}  // namespace roofmark::gate
