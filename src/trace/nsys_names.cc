// SPDX-License-Identifier: Apache-2.0
#include "trace/nsys_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"

namespace roofmark::trace {
namespace {

// Types that nsys writes in front of constants, and what demanglers write behind them instead.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kCasts = {{
    {"(int)", ""},
    {"(unsigned int)", "u"},
    {"(long)", "l"},
    {"(unsigned long)", "ul"},
    {"(long long)", "ll"},
    {"(unsigned long long)", "ull"},
    {"(short)", "(short)"},
    {"(unsigned short)", "(unsigned short)"},
    {"(char)", "(char)"},
    {"(signed char)", "(signed char)"},
    {"(unsigned char)", "(unsigned char)"},
    {"(bool)", "bool"},
}};

// Reads a constant with its type at the start of `text`; appends it and returns its length, or 0.
size_t TakeConstant(std::string_view text, std::string& out) {
  for (const auto& [cast, suffix] : kCasts) {
    if (!text.starts_with(cast)) continue;
    size_t end = cast.size();
    if (end < text.size() && text[end] == '-') ++end;
    const size_t digits = end;
    while (end < text.size() && IsDigit(text[end])) ++end;
    if (end == digits) return 0;
    const std::string_view number = text.substr(cast.size(), end - cast.size());
    if (suffix == "bool") {
      out += number == "0" ? "false" : "true";
    } else if (suffix.starts_with('(')) {
      out += cast;
      out += number;
    } else {
      out += number;
      out += suffix;
    }
    return end;
  }
  return 0;
}

// Reads " (instance 12)]" at the start of `text` into its number; returns its length, or 0.
size_t TakeInstance(std::string_view text, std::string_view& number) {
  constexpr std::string_view kBegin = " (instance ";
  if (!text.starts_with(kBegin)) return 0;
  size_t end = kBegin.size();
  while (end < text.size() && IsDigit(text[end])) ++end;
  number = text.substr(kBegin.size(), end - kBegin.size());
  return text.substr(end).starts_with(")]") ? end + 2 : 0;
}

// " *" of "char *)", but not " &" of ", &vllm::silu".
bool IsSpacedPointer(std::string_view text) {
  return (text.starts_with(" *") || text.starts_with(" &")) &&
         (text.size() == 2 || text[2] == ')' || text[2] == ',' || text[2] == '>' || text[2] == '&');
}

}  // namespace

std::string KinetoKernelName(std::string_view nsys) {
  constexpr std::string_view kUnnamed = "<unnamed>";
  constexpr std::string_view kLambda = "[lambda(";
  std::string out;
  out.reserve(nsys.size() + 16);
  for (size_t at = 0; at < nsys.size();) {
    const std::string_view rest = nsys.substr(at);
    std::string_view number;
    if (rest.starts_with(kUnnamed)) {
      out += "(anonymous namespace)";
      at += kUnnamed.size();
    } else if (rest.starts_with(kLambda)) {
      out += "{lambda(";
      at += kLambda.size();
    } else if (const size_t taken = TakeInstance(rest, number); taken > 0) {
      out += '#';
      out += number;
      out += '}';
      at += taken;
    } else if (const size_t constant = rest.front() == '(' ? TakeConstant(rest, out) : 0;
               constant > 0) {
      at += constant;
    } else if (IsSpacedPointer(rest)) {
      ++at;  // "char *" is "char*"
    } else {
      out += rest.front();
      ++at;
    }
  }
  return out;
}

NvtxOp ParseNvtxText(std::string_view text) {
  NvtxOp op{.name = text, .sizes = {}};
  size_t end = text.size();
  for (const std::string_view mark : {", seq = ", ", op_id = ", ", sizes = "}) {
    const size_t found = text.find(mark);
    if (found == std::string_view::npos) continue;
    end = std::min(end, found);
    if (mark != ", seq = ") op.is_op = true;
  }
  op.name = text.substr(0, end);
  constexpr std::string_view kSizes = ", sizes = ";
  const size_t sizes = text.find(kSizes);
  if (sizes == std::string_view::npos) return op;
  const std::string_view list = text.substr(sizes + kSizes.size());
  int depth = 0;
  for (size_t at = 0; at < list.size(); ++at) {
    if (list[at] == '[') ++depth;
    if (list[at] == ']' && --depth == 0) {
      op.sizes = list.substr(0, at + 1);
      break;
    }
    if (depth == 0) break;  // no list
  }
  return op;
}

}  // namespace roofmark::trace
