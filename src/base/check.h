// SPDX-License-Identifier: Apache-2.0
// CHECK states what must hold in our own code. When it does not, the program has a bug, and going
// on could publish a wrong number, so it aborts with the broken statement.
#pragma once

#include <string_view>

namespace roofmark {

[[noreturn]] void CheckFailed(std::string_view file, int line, std::string_view statement);

}  // namespace roofmark

#define CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::roofmark::CheckFailed(__FILE__, __LINE__, #condition))
