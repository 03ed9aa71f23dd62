// SPDX-License-Identifier: Apache-2.0
//
// Reduces by the block reduction of CUB, a library of headers.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cub/block/block_reduce.cuh>

#include "roofmark/rms_norm.h"

namespace {

using bf16 = __nv_bfloat16;
__global__ void Reduced(const bf16* x, const bf16* weight, bf16* out, int hidden, float eps) {
  using Reduce = cub::BlockReduce<float, 256>;
  __shared__ typename Reduce::TempStorage space;
  __shared__ float total;
  const int64_t row = int64_t{blockIdx.x} * hidden;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < hidden; i += 256) sum += float(x[row + i]) * float(x[row + i]);
  sum = Reduce(space).Sum(sum);
  if (threadIdx.x == 0) total = sum;
  __syncthreads();
  const float factor = rsqrtf(total / static_cast<float>(hidden) + eps);
  for (int i = threadIdx.x; i < hidden; i += 256) {
    out[row + i] = __float2bfloat16(float(x[row + i]) * factor * float(weight[i]));
  }
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  Reduced<<<static_cast<unsigned>(args->tokens), 256, 0, stream>>>(
      static_cast<const bf16*>(args->x.data), static_cast<const bf16*>(args->weight.data),
      static_cast<bf16*>(args->out.data), static_cast<int>(args->hidden),
      static_cast<float>(args->eps));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
