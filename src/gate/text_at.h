// SPDX-License-Identifier: Apache-2.0
// What a worker says in words, on which nothing rests that would need an error.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace roofmark::gate {

// The text under a key; empty where there is none.
inline std::string TextAt(const Json& json, std::string_view key) {
  const Json* const text = json.Find(key);
  return text != nullptr && text->is_string() ? text->as_string() : "";
}

}  // namespace roofmark::gate
