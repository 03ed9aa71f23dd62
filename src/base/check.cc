// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace roofmark {

void CheckFailed(std::string_view file, int line, std::string_view statement) {
  std::fprintf(stderr, "roofmark: bug at %.*s:%d: %.*s does not hold\n",
               static_cast<int>(file.size()), file.data(), line, static_cast<int>(statement.size()),
               statement.data());
  std::abort();
}

}  // namespace roofmark
