// SPDX-License-Identifier: Apache-2.0
// The GPU's clocks, power and temperature around each round of timed calls, and what a reader of
// the verdict has to know about them. They are told and never a reason to measure again: a kernel
// that draws so much power that the GPU slows down does so in production as well.
#pragma once

#include <optional>
#include <string>

#include "device/nvml.h"

namespace roofmark::gate {

// Clocks that vary by more than this between rounds are told.
inline constexpr double kToldClockRange = 0.05;

class ClockLog {
 public:
  // Nothing = this device has no clocks to watch.
  void Add(const std::optional<device::GpuState>& state);
  // The device has clocks, but nothing here reads them.
  void Miss() { missed_ = true; }
  // "throttled: power cap (in 3 of 8 readings); clocks varied 1200 to 1980 MHz"; empty when there
  // is nothing to tell.
  std::string Text() const;

 private:
  bool missed_ = false;
  int readings_ = 0;
  int throttled_ = 0;
  uint64_t reasons_ = 0;
  // Of busy readings: an idle GPU lowers its clocks, which slows nobody down.
  std::optional<int> least_mhz_;
  std::optional<int> most_mhz_;
};

}  // namespace roofmark::gate
