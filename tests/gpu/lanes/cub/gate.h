// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

// silu(x[:, :width]) * x[:, width:], bf16, queued on `stream`.
void LaunchGate(const void* x, void* out, int64_t rows, int64_t width, cudaStream_t stream);
