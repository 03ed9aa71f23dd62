// SPDX-License-Identifier: Apache-2.0
#include "device/proc_fields.h"

#include "base/text.h"

namespace roofmark::device {

std::string ProcField(std::string_view text, std::string_view name) {
  for (const std::string_view line : Split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || Trim(line.substr(0, colon)) != name) continue;
    return std::string(Trim(line.substr(colon + 1)));
  }
  return {};
}

}  // namespace roofmark::device
