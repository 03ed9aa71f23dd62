// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry to execution traces.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "trace/execution_trace.h"
#include "trace/profile_rows.h"
#include "trace/recipe.h"
#include "trace/traced_names.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace roofmark::trace;  // NOLINT
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto trace = ReadExecutionTrace(ByteSource::FromMemory(bytes));
  if (!trace) return 0;
  CHECK(trace->by_id.size() <= trace->ops.size());
  Numbering threads;
  Profile profile;  // of the same operators twice, without sizes
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (const TracedOp& op : trace->ops) {
      ParseArguments(op.arguments.dims, op.arguments.types, op.arguments.concrete);
      const auto at = static_cast<int64_t>(profile.ops.size());
      profile.ops.push_back({.start_ns = at,
                             .end_ns = at + 1,
                             .name = profile.text.Intern(op.arguments.name),
                             .thread = threads.Of(op.thread)});
    }
  }
  const NamesMatched matched = AddArgumentsByNames(*trace, profile);
  CHECK(matched.given + matched.disputed <= profile.ops.size());
  return 0;
}
