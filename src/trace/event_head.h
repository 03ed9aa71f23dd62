// SPDX-License-Identifier: Apache-2.0
// What kind of event it is, from its first bytes where possible: most events of a profile are not
// needed, and this is all that is ever read of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/string_table.h"

namespace roofmark::trace {

enum class Category {
  kOther,  // not needed: flows, overhead, metadata rows, counters, other accelerators
  kPython,
  kKernel,
  kMemcpy,
  kMemset,
  kRuntime,  // a call of the CUDA or HIP runtime, or of the driver
  kCpuOp,
  kAnnotation,     // record_function on the CPU
  kGpuAnnotation,  // the same, projected on a GPU stream
};

// Reads `ph` and `cat` of an event, in whatever order its keys are; only complete events (ph X) are
// more than kOther. Knows today's categories and the capitalised ones of 2021.
Category ReadCategory(std::string_view event);

// Tells runtime calls that launch, copy, fill or deal with graphs from those that only query
// something, which are most. Asks once per distinct name.
class IdleCalls {
 public:
  // The correlation id of an idle call, read from where profilers write it. Nothing for other
  // calls, and where the event is laid out in another way. Requires: ReadCategory says kRuntime.
  std::optional<uint64_t> Read(std::string_view event);

 private:
  bool IsIdle(std::string_view name);
  StringTable names_;
  std::vector<bool> idle_;
};

// Whether a runtime call of this name launches, copies, fills or deals with graphs.
bool IsLaunchingCall(std::string_view name);

}  // namespace roofmark::trace
