// SPDX-License-Identifier: Apache-2.0
// The device half of silu_and_mul with compiler = "nvrtc".

#include <cuda_bf16.h>

extern "C" __global__ void __launch_bounds__(THREADS)
    Gate(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ out, long long rows,
         long long width) {
  const long long step = static_cast<long long>(gridDim.x) * THREADS;
  const long long first = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  for (long long i = first; i < rows * width; i += step) {
    const __nv_bfloat16* row = x + i / width * 2 * width + i % width;
    const float gate = __bfloat162float(row[0]);
    out[i] = __float2bfloat16_rn(gate / (1.0f + __expf(-gate)) * __bfloat162float(row[width]));
  }
}
