// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry to execution traces.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "trace/execution_trace.h"
#include "trace/recipe.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace roofmark::trace;  // NOLINT
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto trace = ReadExecutionTrace(ByteSource::FromMemory(bytes));
  if (!trace) return 0;
  CHECK(trace->by_id.size() <= trace->nodes);
  for (const auto& [id, arguments] : trace->by_id) {
    ParseArguments(arguments.dims, arguments.types, arguments.concrete);
  }
  return 0;
}
