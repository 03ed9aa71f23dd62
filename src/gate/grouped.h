// SPDX-License-Identifier: Apache-2.0
// Comparing integers whose order inside a group is free, such as the tokens of one expert: both
// sides are sorted group by group and must then be equal. The groups are those of the expected
// outputs. These outputs are small, so it is done in host memory on every device.
#pragma once

#include "base/result.h"
#include "device/arena.h"
#include "device/device.h"
#include "model/operator.h"

namespace roofmark::gate {

// Output `place` of both arenas; the arena of expected outputs also holds tolerance.groups.
// The result's first_wrong is a place in the sorted order. Errors: kInput where offsets do not
// rise or leave the output: a fault of the reference.
Result<device::Comparison> CompareGrouped(device::Arena& got, device::Arena& want, size_t place,
                                          const Tolerance& tolerance);

}  // namespace roofmark::gate
