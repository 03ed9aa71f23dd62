// SPDX-License-Identifier: Apache-2.0
// The worker's side of the doorbell (bell.h).
#pragma once

#include <cstdint>
#include <functional>

#include "base/result.h"

namespace roofmark::worker {

// Maps the page behind `fd` and answers rings until kBellStop, or until a call fails: then its
// error comes back, with the ring answered and its status set. `call` gets 0-based numbers. Returns
// how many calls were made.
Result<int64_t> ServeBell(int fd, const std::function<Result<void>(uint64_t)>& call);

}  // namespace roofmark::worker
