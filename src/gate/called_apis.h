// SPDX-License-Identifier: Apache-2.0
// Through which functions of a vendor's library or the framework's kernels were launched: read off
// the stacks that the meter saw at launches (meter/meter.h, Watched). Testimony, for a person.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace roofmark::gate {

// "cublasGemmEx (libcublas.so.13)" for each stack that leads through such a library: its function
// that is farthest from the driver, which is what the candidate called. Each once, in order. What
// is no such reply, or names nothing, is left out.
std::vector<std::string> CalledApis(const Json& watched);

}  // namespace roofmark::gate
