// SPDX-License-Identifier: Apache-2.0
// The inside of a native worker: serves the judge's requests (worker.h) on one candidate, which is
// a shared object. Runs confined. Nothing here is trusted by the judge.
#pragma once

#include <string>

#include "worker/channel.h"

namespace roofmark::worker {

// Serves requests until "bye" or the socket closes. `device` is "cpu" or "cuda". Returns the exit
// code.
int NativeWorkerMain(Channel channel, const std::string& device);

}  // namespace roofmark::worker
