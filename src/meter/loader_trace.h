// SPDX-License-Identifier: Apache-2.0
// Which shared object asked the driver for something: read off the call stack.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roofmark::meter {

// True for the objects that stand between a program and the driver: libcuda, libcudart, CUPTI, the
// meter itself and the C library.
bool IsPlumbing(std::string_view path);

// The distinct objects on the current call stack, nearest first, without plumbing; at most `limit`.
std::vector<std::string> CallingObjects(size_t limit);

// The functions on the current call stack as "file:symbol", nearest first, without plumbing; the
// symbol is empty inside functions that their object does not export. At most `limit`.
std::vector<std::string> CallingFunctions(size_t limit);

}  // namespace roofmark::meter
