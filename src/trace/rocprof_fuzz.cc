// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry to rocprofv3's JSON and CSV, told apart as files are.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trace/fuzz_checks.h"
#include "trace/profile_format.h"
#include "trace/rocprof_csv.h"
#include "trace/rocprof_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace roofmark::trace;  // NOLINT
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const bool csv = DetectText(bytes) == ProfileFormat::kRocprofCsv;
  const roofmark::Result<Profile> profile = csv ? ReadRocprofCsv(ByteSource::FromMemory(bytes))
                                                : ReadRocprofJson(ByteSource::FromMemory(bytes));
  if (profile) CheckProfile(*profile);
  return 0;
}
