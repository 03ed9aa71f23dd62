// SPDX-License-Identifier: Apache-2.0
// Another schedule for a worker on a CPU: threads of the judge compete for some of the cores, and
// the worker's threads may use only some of them. What cannot be set on this machine is left as it
// is: a disturbance helps to find races and proves nothing.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "gate/stopwatch.h"

namespace roofmark::gate {

// Ends, and gives the cores back, when it is destroyed. `seed` draws how many threads compete and
// which cores are left.
std::unique_ptr<Disturbance> DisturbCpu(pid_t worker, uint64_t seed);

}  // namespace roofmark::gate
