// SPDX-License-Identifier: Apache-2.0
// Device code of `calibrate`: kernels that do one thing as fast as they can.
#pragma once

#include <string>

namespace roofmark::device {

std::string CalibrationSource();

}  // namespace roofmark::device
