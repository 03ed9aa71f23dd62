// SPDX-License-Identifier: Apache-2.0
// Spellings that AMD's profilers share.
#pragma once

#include <string_view>

namespace roofmark::trace {

// Without the ".kd" that ends the symbol of a kernel's descriptor, and the "[clone .kd]" of its
// demangled form.
inline std::string_view KernelOfSymbol(std::string_view symbol) {
  for (const std::string_view end : {" [clone .kd]", ".kd"}) {
    if (symbol.ends_with(end)) symbol.remove_suffix(end.size());
  }
  return symbol;
}

inline bool IsHipCall(std::string_view name) {
  return name.starts_with("hip") || name.starts_with("__hip");
}
inline bool IsOtherApiCall(std::string_view name) {
  return name.starts_with("hsa_") || name.starts_with("nccl") || name.starts_with("rocdec");
}

}  // namespace roofmark::trace
