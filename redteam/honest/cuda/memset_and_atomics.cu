// SPDX-License-Identifier: Apache-2.0
//
// Clears its workspace by memset, adds to it by atomics in no order, and scales in a second
// kernel.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/rms_norm.h"

namespace {

using bf16 = __nv_bfloat16;
__global__ void Square(const bf16* x, float* sums, int hidden) {
  const int64_t row = int64_t{blockIdx.x} * hidden;
  const int i = blockIdx.y * 256 + threadIdx.x;
  float sum = i < hidden ? float(x[row + i]) * float(x[row + i]) : 0.0f;
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x % 32 == 0) atomicAdd(sums + blockIdx.x, sum);
}

__global__ void Scale(const bf16* x, const bf16* weight, const float* sums, bf16* out, int hidden,
                      float eps) {
  const int64_t row = int64_t{blockIdx.x} * hidden;
  const float factor = rsqrtf(sums[blockIdx.x] / static_cast<float>(hidden) + eps);
  for (int i = threadIdx.x; i < hidden; i += 256) {
    out[row + i] = __float2bfloat16(float(x[row + i]) * factor * float(weight[i]));
  }
}

void TwoKernels(const rms_norm_args& args, float* sums, cudaStream_t stream) {
  const auto rows = static_cast<unsigned>(args.tokens);
  const auto hidden = static_cast<int>(args.hidden);
  const auto* x = static_cast<const bf16*>(args.x.data);
  cudaMemsetAsync(sums, 0, rows * sizeof(float), stream);
  Square<<<dim3(rows, static_cast<unsigned>((hidden + 255) / 256)), 256, 0, stream>>>(x, sums,
                                                                                      hidden);
  Scale<<<rows, 256, 0, stream>>>(x, static_cast<const bf16*>(args.weight.data), sums,
                                  static_cast<bf16*>(args.out.data), hidden,
                                  static_cast<float>(args.eps));
}

}  // namespace

extern "C" int64_t workspace_bytes(const rms_norm_args* args) {
  return args->tokens * static_cast<int64_t>(sizeof(float));
}

extern "C" int run(const rms_norm_args* args, void* workspace, void* stream_handle) {
  TwoKernels(*args, static_cast<float*>(workspace), static_cast<cudaStream_t>(stream_handle));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
