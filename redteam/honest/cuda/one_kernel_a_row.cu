// SPDX-License-Identifier: Apache-2.0
//
// A kernel for each row: many tiny launches in one call.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/silu_and_mul.h"

namespace {

using bf16 = __nv_bfloat16;
__global__ void Silu(const bf16* x, bf16* out, int width) {
  const int64_t row = blockIdx.x;
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    const float gate = float(x[row * 2 * width + i]);
    const float value = float(x[row * 2 * width + width + i]);
    out[row * width + i] = __float2bfloat16(gate / (1.0f + expf(-gate)) * value);
  }
}

}  // namespace

extern "C" int run(const silu_and_mul_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  for (int64_t row = 0; row < args->rows; ++row) {
    Silu<<<1, 256, 0, stream>>>(static_cast<const bf16*>(args->x.data) + row * 2 * args->width,
                                static_cast<bf16*>(args->out.data) + row * args->width,
                                static_cast<int>(args->width));
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
