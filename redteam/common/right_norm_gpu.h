// SPDX-License-Identifier: Apache-2.0
//
// The right answer of rms_norm on a GPU, for programs whose trick lies elsewhere.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/rms_norm.h"

namespace {

using bf16 = __nv_bfloat16;

// One warp a row.
__device__ void NormRow(const bf16* x, const bf16* weight, bf16* out, int hidden, float eps) {
  const int64_t row = int64_t{blockIdx.x} * hidden;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < hidden; i += 32) sum += float(x[row + i]) * float(x[row + i]);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  const float factor = rsqrtf(sum / static_cast<float>(hidden) + eps);
  for (int i = threadIdx.x; i < hidden; i += 32) {
    out[row + i] = __float2bfloat16(float(x[row + i]) * factor * float(weight[i]));
  }
}

__global__ void Norm(const bf16* x, const bf16* weight, bf16* out, int hidden, float eps) {
  NormRow(x, weight, out, hidden, eps);
}

// The right answer of so many rows, to be written to `out`.
inline void Right(const rms_norm_args& args, void* out, cudaStream_t stream, int64_t rows) {
  Norm<<<static_cast<unsigned>(rows), 32, 0, stream>>>(
      static_cast<const bf16*>(args.x.data), static_cast<const bf16*>(args.weight.data),
      static_cast<bf16*>(out), static_cast<int>(args.hidden), static_cast<float>(args.eps));
}

inline void Right(const rms_norm_args& args, void* out, cudaStream_t stream) {
  Right(args, out, stream, args.tokens);
}

}  // namespace
