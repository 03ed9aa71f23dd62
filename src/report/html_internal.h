// SPDX-License-Identifier: Apache-2.0
// How untrusted text gets into the page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace roofmark::report {

// Text between tags or inside a quoted attribute.
std::string EscapeHtml(std::string_view text);

// A JSON document that may stand inside a script element: it parses to the same value and holds
// none of the characters that markup begins with.
std::string EscapeForScript(std::string_view json);

struct Slot {
  std::string_view name;
  std::string_view text;
};
// The text with each {{name}} replaced by its slot; slots are not searched for names again.
// Errors: kInput for a name without a slot.
Result<std::string> FillTemplate(std::string_view text, const std::vector<Slot>& slots);

}  // namespace roofmark::report
