// SPDX-License-Identifier: Apache-2.0
// Functions of libraries that are opened at run time.
#pragma once

#include <dlfcn.h>

namespace roofmark {

// Points `slot` at the library's function of this name; false where it has none.
template <typename Function>
bool BindSymbol(void* library, Function*& slot, const char* name) {
  slot = reinterpret_cast<Function*>(::dlsym(library, name));
  return slot != nullptr;
}

}  // namespace roofmark
