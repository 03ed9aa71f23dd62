// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry to the reader of foreign bytes. No target builds it, since g++ has no
// libFuzzer; docs/formats.md has the command. event_splitter_test.cc reads mutations of a sample in
// every build.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "trace/profile.h"
#include "trace/totals.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace roofmark::trace;  // NOLINT
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const roofmark::Result<Profile> profile = ReadProfile(ByteSource::FromMemory(bytes));
  if (!profile) return 0;
  const Totals totals = ComputeTotals(*profile);
  CHECK(totals.union_ns >= 0 && totals.union_ns <= totals.sum_kernel_ns);
  CHECK(ContentHash(*profile).size() == 64);
  return 0;
}
