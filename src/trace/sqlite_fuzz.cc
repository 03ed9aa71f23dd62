// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry to the readers of databases: whatever the tables are, each reader tries them.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/fuzz_checks.h"
#include "trace/nsys_reader.h"
#include "trace/rocpd_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace roofmark::trace;  // NOLINT
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (auto* read : {&ReadNsys, &ReadRocpd, &ReadRpd}) {
    auto rows = SqliteRows::FromMemory(bytes);
    if (!rows) return 0;
    const roofmark::Result<Profile> profile = read(std::move(*rows));
    if (profile) CheckProfile(*profile);
  }
  return 0;
}
