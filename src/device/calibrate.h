// SPDX-License-Identifier: Apache-2.0
// What this very machine reaches, measured: the ceilings beside a card's datasheet peaks. Each is
// the best that a kernel written for nothing else got, so a lower bound of the hardware's.
#pragma once

#include <string>

#include "base/result.h"
#include "model/device_card.h"

namespace roofmark::device {

struct Calibration {
  Ceilings ceilings;  // sources say how each was measured, with its spread
  std::string note;   // date, machine, driver and versions
  std::string device_name;
  std::string arch;
  double cache_bytes = 0;
};

// Every core, a few seconds. Engines that a CPU has not (the tensor ones) stay 0.
// Errors: kDevice when memory for the measurement is missing.
Result<Calibration> CalibrateCpu();

// Device 0. Matrix rates go through PyTorch's libraries where ROOFMARK_PYTHON has them
// (examples/calibrate_matmul.py), and through plain mma instructions; the better one counts. The
// launch floor is the span that CUPTI records of an empty kernel; it needs a process that has not
// used CUDA before, since the meter is injected when the driver initialises.
// Errors: kDevice.
Result<Calibration> CalibrateCuda();

}  // namespace roofmark::device
