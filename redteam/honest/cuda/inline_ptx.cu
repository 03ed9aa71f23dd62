// SPDX-License-Identifier: Apache-2.0
//
// The exponential and the reciprocal by inline PTX.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/silu_and_mul.h"

namespace {

using bf16 = __nv_bfloat16;
__device__ float Silu(float gate) {
  float power;
  float inverse;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(-1.44269504f * gate));
  asm volatile("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.0f + power));
  return gate * inverse;
}

__global__ void SiluAndMul(const bf16* x, bf16* out, int width) {
  const int64_t row = blockIdx.x;
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    const float value = float(x[row * 2 * width + width + i]);
    out[row * width + i] = __float2bfloat16(Silu(float(x[row * 2 * width + i])) * value);
  }
}

}  // namespace

extern "C" int run(const silu_and_mul_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  SiluAndMul<<<static_cast<unsigned>(args->rows), 256, 0, stream>>>(
      static_cast<const bf16*>(args->x.data), static_cast<bf16*>(args->out.data),
      static_cast<int>(args->width));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
