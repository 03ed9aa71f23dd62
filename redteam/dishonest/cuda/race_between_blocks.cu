// SPDX-License-Identifier: Apache-2.0
//
// RACE: Blocks of one launch hand sums to one another without a barrier over the grid.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/rms_norm.h"

namespace {

using bf16 = __nv_bfloat16;
__device__ float sums[65536];

__global__ void Racy(const bf16* x, const bf16* weight, bf16* out, int hidden, float eps) {
  const int64_t row = int64_t{blockIdx.x / 2} * hidden;
  const int half = hidden / 2;
  const int begin = blockIdx.x % 2 == 0 ? 0 : half;
  const int end = blockIdx.x % 2 == 0 ? half : hidden;
  float sum = 0.0f;
  for (int i = begin + threadIdx.x; i < end; i += 32) sum += float(x[row + i]) * float(x[row + i]);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
  __syncwarp();
  // The other half's sum may be there, or that of another call.
  const float total = sum + *reinterpret_cast<volatile float*>(&sums[blockIdx.x ^ 1]);
  const float factor = rsqrtf(total / static_cast<float>(hidden) + eps);
  for (int i = begin + threadIdx.x; i < end; i += 32) {
    out[row + i] = __float2bfloat16(float(x[row + i]) * factor * float(weight[i]));
  }
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  Racy<<<static_cast<unsigned>(2 * args->tokens), 32, 0, stream>>>(
      static_cast<const bf16*>(args->x.data), static_cast<const bf16*>(args->weight.data),
      static_cast<bf16*>(args->out.data), static_cast<int>(args->hidden),
      static_cast<float>(args->eps));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
