// SPDX-License-Identifier: Apache-2.0
// How the three clocks of a GPU are held against each other.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "gate/cuda_stopwatch.h"

namespace roofmark::gate {
namespace {

// With the queue kept full, an event pair reads this much more than CUPTI's span, whatever the
// call's length. Source: 3.0 to 3.8 us in 40 timings of 17 us to 10 ms on this stage, on an H200
// with the meter on, 2026-11-30.
constexpr double kEventOffsetNs = 3300;

// A call that waits for the device leaves it idle, so the judge's clock sees queueing that the
// events do not: 274 us for a call of 71 us whose events read 91 us, on an H200. A program whose
// events and meter both lied by as much as it needs to read 63 us showed 493 us.
constexpr double kWaitingShare = 3.5;
constexpr double kWaitingNs = 200'000;

}  // namespace

std::string CudaClockFault(const Clocks& clocks, double published_ns) {
  const double device = clocks.device.median;
  const double event = clocks.event.median;
  // Events enclose the call's work on its stream. Slack: event resolution of half a microsecond.
  if (event < 0.97 * device - 500) {
    return fmt::format(
        "stream events read {} but the device worked for {}: work on another stream, or events "
        "were tampered with",
        HumanTime(event), HumanTime(device));
  }
  // Of a call that waits for the host the judge's time is published, which covers the waiting.
  if (event > 1.10 * std::max(device, published_ns) + kEventOffsetNs + 3000) {
    return fmt::format(
        "stream events read {} but the meter saw {} of work: the call waits for the host between "
        "its kernels, or the meter was tampered with",
        HumanTime(event), HumanTime(device));
  }
  // The judge's clock is the only one outside the candidate's reach: no time may lie under it. It
  // goes through a socket, so its lower end counts, with what a round trip was seen to jitter.
  // Where the call waits, this is the judge's time. It is the published one, so nothing is gained
  // by what the others say; far over them it tells that they lie.
  if (published_ns > kWaitingShare * std::max(device, event) + kWaitingNs) {
    return fmt::format(
        "the judge's clock reads {} a call but the stream's events {}: the events were tampered "
        "with, or run() works while nothing of it is on the stream",
        HumanTime(published_ns), HumanTime(event));
  }
  if (clocks.host.low > 1.10 * device + kEventOffsetNs + kHostJitterNs) {
    return fmt::format(
        "the judge's clock reads at least {} a call but the meter saw {} of work: work after the "
        "stream was done, or the meter was tampered with",
        HumanTime(clocks.host.low), HumanTime(device));
  }
  return "";
}

}  // namespace roofmark::gate
