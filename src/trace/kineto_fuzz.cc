// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry to the reader of foreign bytes. Built by hand, since the project builds with
// g++: clang++ -std=c++23 -fsanitize=fuzzer,address -Isrc src/trace/kineto_fuzz.cc and the sources
// of base, model and trace; docs/formats.md has the line. event_splitter_test.cc runs it over
// mutations of the sample in every build.
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
