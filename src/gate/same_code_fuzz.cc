// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry to what compares cubins: the input is one, or two of the same length.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "gate/same_code.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using roofmark::gate::CodeDifference;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // Whatever is whole is the same as itself.
  const std::string with_itself = CodeDifference(bytes, bytes);
  if (!with_itself.empty() && with_itself != "no whole ELF file") std::abort();
  const std::string_view half = bytes.substr(0, size / 2);
  const bool same = CodeDifference(half, bytes.substr(half.size())).empty();
  if (same != CodeDifference(bytes.substr(half.size()), half).empty()) std::abort();
  return 0;
}
