// SPDX-License-Identifier: Apache-2.0
// Timing on a GPU. A batch of calls is queued in the worker behind a kernel that holds the stream;
// the judge says go and reads its own clock until the worker says done. The published time of a
// call is the span of its work on the device as CUPTI records it; stream events and the judge's
// clock, less that of a batch without the calls, guard it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "device/device.h"
#include "device/nvml.h"
#include "gate/stopwatch.h"

namespace roofmark::gate {

// Requires: a device made by device::OpenCuda (CHECK). Errors: kDevice when the stage's kernels
// cannot be compiled.
Result<std::unique_ptr<Stopwatch>> MakeCudaStopwatch(device::Device& device);

// The same from parts, for a stage that is compiled already.
// `nvml` null = clocks are not watched, and verdicts say so.
std::unique_ptr<Stopwatch> MakeCudaStopwatch(std::string stage_cubin, int64_t flush_bytes,
                                             std::unique_ptr<device::Nvml> nvml = nullptr);

// Paired differences of honest calls exceeded the meter's span by up to 15 us on an H200: a flush
// after a call finds other lines in the cache than a flush after a flush.
inline constexpr double kHostJitterNs = 20'000;

// Why the three clocks cannot all be right, or nothing. All in nanoseconds per call; `published_ns`
// is the device's median, or of a call that waits for the device the judge's own.
std::string CudaClockFault(const Clocks& clocks, double published_ns);

}  // namespace roofmark::gate
