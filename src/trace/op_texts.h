// SPDX-License-Identifier: Apache-2.0
// The recorded arguments of an operator: three texts that are kept as one, since operators repeat
// them together.
#pragma once

#include <string>
#include <string_view>

#include "trace/string_table.h"

namespace roofmark::trace {

// As in the profile, JSON; empty where not recorded.
struct OpTexts {
  std::string_view dims;
  std::string_view types;
  std::string_view concrete;
};

// The text that stands for all three; kNoText where all are empty. `scratch` is overwritten.
TextId InternOpTexts(const OpTexts& texts, StringTable& table, std::string& scratch);

// Views into the table.
OpTexts OpTextsOf(TextId arguments, const StringTable& table);
bool HasDims(TextId arguments, const StringTable& table);

}  // namespace roofmark::trace
