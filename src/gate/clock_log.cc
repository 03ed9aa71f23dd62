// SPDX-License-Identifier: Apache-2.0
#include "gate/clock_log.h"

#include <fmt/format.h>

#include <algorithm>

namespace roofmark::gate {

void ClockLog::Add(const std::optional<device::GpuState>& state) {
  if (!state) return;
  ++readings_;
  if (!device::ThrottleText(state->reasons).empty()) ++throttled_;
  reasons_ |= state->reasons;
  if (state->idle() || !state->sm_mhz) return;
  least_mhz_ = std::min(least_mhz_.value_or(*state->sm_mhz), *state->sm_mhz);
  most_mhz_ = std::max(most_mhz_.value_or(*state->sm_mhz), *state->sm_mhz);
}

std::string ClockLog::Text() const {
  if (missed_) return "clocks not watched: no NVML (roofmark doctor says why)";
  std::string text;
  if (throttled_ > 0) {
    text = fmt::format("throttled: {} (in {} of {} readings)", device::ThrottleText(reasons_),
                       throttled_, readings_);
  }
  if (least_mhz_ && *most_mhz_ > (1 + kToldClockRange) * *least_mhz_) {
    text += fmt::format("{}clocks varied {} to {} MHz", text.empty() ? "" : "; ", *least_mhz_,
                        *most_mhz_);
  }
  return text;
}

}  // namespace roofmark::gate
