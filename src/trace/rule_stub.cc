// SPDX-License-Identifier: Apache-2.0
#include "trace/rule_stub.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/ascii.h"
#include "base/text.h"

namespace roofmark::trace {
namespace {

// The last <length><name> of a mangled name's path, such as "_ZN5aiter4nameIDF16bE".
std::string LastOfMangled(std::string_view name) {
  std::string last;
  size_t at = 2;
  if (name.substr(at).starts_with('N')) ++at;
  while (at < name.size() && IsDigit(name[at])) {
    size_t length = 0;
    while (at < name.size() && IsDigit(name[at]) && length < name.size()) {
      length = 10 * length + static_cast<size_t>(name[at++] - '0');
    }
    if (length == 0 || length > name.size() - at) break;
    last = name.substr(at, length);
    at += length;
  }
  return last;
}

// Without what stands in matching brackets at any depth.
std::string WithoutBrackets(std::string_view name, char open, char close) {
  std::string out;
  int depth = 0;
  for (const char byte : name) {
    if (byte == open) ++depth;
    if (depth == 0) out += byte;
    if (byte == close && depth > 0) --depth;
  }
  return out;
}

// The beginning of a name as a comment.
std::string OneLine(std::string_view name) {
  std::string line = ValidUtf8(name.substr(0, 80));
  std::ranges::replace_if(line, [](char byte) { return byte >= 0 && byte < ' '; }, ' ');
  return line;
}

}  // namespace

std::string BaseKernelName(std::string_view name) {
  if (name.starts_with("_Z")) {
    const std::string last = LastOfMangled(name);
    return last.empty() ? std::string(name) : last;
  }
  std::string plain(name);
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (size_t at = plain.find(kAnonymous); at != std::string::npos; at = plain.find(kAnonymous)) {
    plain.erase(at, kAnonymous.size());
  }
  plain = WithoutBrackets(plain, '<', '>');
  plain = WithoutBrackets(plain, '(', ')');
  const size_t space = plain.find(' ');
  if (space != std::string::npos) plain = plain.substr(space + 1);  // the return type
  const size_t colons = plain.rfind("::");
  if (colons != std::string::npos) plain = plain.substr(colons + 2);
  plain = Trim(plain);
  return plain.empty() ? std::string(name) : plain;
}

std::string RuleStubs(const std::vector<UnknownKernel>& unknown) {
  std::map<std::string, UnknownKernel> by_base;
  for (const UnknownKernel& kernel : unknown) {
    UnknownKernel& into = by_base[BaseKernelName(kernel.name)];
    into.exposed_ns += kernel.exposed_ns;
    into.launches += kernel.launches;
    if (into.name.empty()) into.name = kernel.name;
  }
  std::vector<std::pair<std::string, UnknownKernel>> sorted(by_base.begin(), by_base.end());
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [](const auto& entry) { return entry.second.exposed_ns; });
  std::string out =
      "[about]\nframework = \"FILL IN: what these kernels are of\"\nversion = \"FILL IN\"\n";
  for (const auto& [base, kernel] : sorted) {
    out += fmt::format(
        "\n# {}, {} launches: {}\n[[kernel]]\ncontains = [{}]\n"
        "operator = \"FILL IN\"\n",
        HumanTime(static_cast<double>(kernel.exposed_ns)), kernel.launches, OneLine(kernel.name),
        Json(base).Dump());
  }
  return out;
}

}  // namespace roofmark::trace
