// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace roofmark {

inline double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace roofmark
