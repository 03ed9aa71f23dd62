// SPDX-License-Identifier: Apache-2.0
#include "trace/op_texts.h"

namespace roofmark::trace {
namespace {

// JSON has no such byte, inside its strings or outside.
constexpr char kBetween = '\x1f';

}  // namespace

TextId InternOpTexts(const OpTexts& texts, StringTable& table, std::string& scratch) {
  if (texts.dims.empty() && texts.types.empty() && texts.concrete.empty()) return kNoText;
  scratch.assign(texts.dims);
  scratch += kBetween;
  scratch += texts.types;
  scratch += kBetween;
  scratch += texts.concrete;
  return table.Intern(scratch);
}

OpTexts OpTextsOf(TextId arguments, const StringTable& table) {
  if (arguments == kNoText) return {};
  const std::string_view text = table.Text(arguments);
  const size_t types = text.find(kBetween);
  const size_t concrete = text.find(kBetween, types + 1);
  return {text.substr(0, types), text.substr(types + 1, concrete - types - 1),
          text.substr(concrete + 1)};
}

bool HasDims(TextId arguments, const StringTable& table) {
  return arguments != kNoText && table.Text(arguments).front() != kBetween;
}

}  // namespace roofmark::trace
