// SPDX-License-Identifier: Apache-2.0
// The C interface of libroofmark_meter.so, for Python workers (ctypes) and native ones (dlsym): the
// meter, arenas by descriptor, and the stage for timed calls. Functions return 0 on success; the
// text of the last failure of the calling thread is roofmark_error().
#pragma once

#include <cstdint>

extern "C" {

// Called by the CUDA driver when it loads this library. Returns 1, as the driver expects.
int InitializeInjection(void);

const char* roofmark_error(void);

// Makes the primary context of device 0 current (PyTorch's runtime uses the same one).
int roofmark_cuda_open(void);
// Maps an exported allocation; `writable` is 0 or 1. The descriptor stays the caller's.
int roofmark_cuda_map(int fd, uint64_t bytes, int writable, uint64_t* address);
int roofmark_cuda_unmap(uint64_t address);
// Waits for the device; reports errors of kernels.
int roofmark_cuda_synchronize(void);

// The stage of timed calls (device/cuda_stage.h), from the cubin that the judge compiled.
int roofmark_stage_open(const char* cubin, uint64_t cubin_bytes, uint64_t flush_bytes);
// Whether, from the next batch on, a call's mark waits for the whole context (0 or 1).
int roofmark_stage_join(int join);
int roofmark_stage_begin(void* stream, int calls, uint64_t hold_ns);
// Of the call whose roofmark_stage_before comes next: lines of its operands whose coldness is
// probed, and operands that are to be warm.
int roofmark_stage_probe(uint64_t base, const uint64_t* offsets, uint64_t count);
int roofmark_stage_warm(uint64_t address, uint64_t bytes);
int roofmark_stage_before(void);
int roofmark_stage_after(void);
int roofmark_stage_end(void);
int roofmark_stage_go(void);
// `event_ns` has room for as many values as calls were announced; `held` becomes 0 or 1.
int roofmark_stage_times(double* event_ns, int* held);
// The findings of the batch that ran as JSON, or null; valid until the next call.
const char* roofmark_stage_findings(void);
// Occupies a part of the GPU for a while, and does not wait for it.
int roofmark_stage_disturb(int percent, uint64_t seed, uint64_t limit_ns);

void roofmark_meter_start(void);
void roofmark_meter_discard(void);
// The testimony since the start as JSON; stays valid until the next call.
const char* roofmark_meter_drain(void);

// Counts calls into CUDA from here on; the JSON of WatchedToJson ends it, valid until the next one.
void roofmark_watch_start(void);
const char* roofmark_watch_stop(void);
}
