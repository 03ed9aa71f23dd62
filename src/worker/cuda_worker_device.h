// SPDX-License-Identifier: Apache-2.0
// The GPU inside a native worker. Batches take four requests, so that the judge's clock can cover
// the device's work alone:
//
//   {"do": "batch", "phase": "stage", "cubin": hex, "flush_bytes": n, "calls": []}   once a worker
//   {"do": "batch", "phase": "queue", "calls": [..], "hold_ns": n, "skip": bool}     queues, holds
//   {"do": "batch", "phase": "go", "calls": []}     runs and waits -> {"held": bool}
//   {"do": "batch", "phase": "read", "calls": []}
//                                 -> {"event_ns": [..], "stage": {..}, "meter": {..}}
//
// With "skip" the candidate is not called: the judge pairs such a batch with a real one. A call may
// say {"probe": {"base": address, "offsets": [..]}} and {"warm": [[address, bytes], ..]}; "stage"
// are CudaStage's findings. The meter (src/meter) is the library that the driver injected.
//
//   {"do": "batch", "phase": "disturb", "percent": n, "seed": n, "limit_ns": n, "calls": []}
//
// occupies a part of the GPU for a while, and does not wait for it.
#pragma once

#include <memory>

#include "worker/worker_device.h"

namespace roofmark::worker {

// Errors: kDevice.
Result<std::unique_ptr<WorkerDevice>> OpenCudaWorkerDevice();

}  // namespace roofmark::worker
