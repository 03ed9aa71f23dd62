// SPDX-License-Identifier: Apache-2.0
// How much memory arenas may take. Asking for more than there is must be an error beforehand: by
// default Linux would rather kill some process in the middle of a measurement.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace roofmark::device {

// What the kernel can give without swapping, or what is left under this process's control group,
// whichever is less. Source: Linux, Documentation/filesystems/proc.rst (MemAvailable) and
// admin-guide/cgroup-v2.rst.
Result<int64_t> AvailableMemoryBytes();

}  // namespace roofmark::device
