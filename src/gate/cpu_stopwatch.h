// SPDX-License-Identifier: Apache-2.0
// Timing on a CPU: the judge flushes the operands of a call out of every cache, rings the doorbell
// (worker/bell.h), and reads its own clock until the worker has answered. Who used the time is
// sampled from outside the worker (worker/cpu_sampler.h).
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "gate/stopwatch.h"

namespace roofmark::gate {

Result<std::unique_ptr<Stopwatch>> MakeCpuStopwatch();

// Why the clocks cannot all be right, or nothing. All in nanoseconds per call.
std::string CpuClockFault(const Clocks& clocks);

}  // namespace roofmark::gate
