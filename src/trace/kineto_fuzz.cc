// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry to Kineto's reader and to the containers that it comes in (tests/fuzz).
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/fuzz_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace roofmark::trace;  // NOLINT
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const roofmark::Result<Profile> profile = ReadProfile(ByteSource::FromMemory(bytes));
  if (profile) CheckProfile(*profile);
  return 0;
}
