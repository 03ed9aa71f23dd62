// SPDX-License-Identifier: Apache-2.0
//
// Two blocks of a cluster share a row, and read one another's sum through distributed shared
// memory.

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/rms_norm.h"

namespace {

using bf16 = __nv_bfloat16;
namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2, 1, 1)
    Pair(const bf16* x, const bf16* weight, bf16* out, int hidden, float eps) {
  __shared__ float mine;
  const cg::cluster_group cluster = cg::this_cluster();
  const int64_t row = int64_t{blockIdx.x / 2} * hidden;
  const int half = (hidden + 1) / 2;
  const int begin = static_cast<int>(cluster.block_rank()) * half;
  const int end = min(hidden, begin + half);
  float sum = 0.0f;
  for (int i = begin + threadIdx.x; i < end; i += 32) sum += float(x[row + i]) * float(x[row + i]);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x == 0) mine = sum;
  cluster.sync();
  const float total = sum + *cluster.map_shared_rank(&mine, cluster.block_rank() ^ 1);
  cluster.sync();
  const float factor = rsqrtf(total / static_cast<float>(hidden) + eps);
  for (int i = begin + threadIdx.x; i < end; i += 32) {
    out[row + i] = __float2bfloat16(float(x[row + i]) * factor * float(weight[i]));
  }
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  Pair<<<static_cast<unsigned>(2 * args->tokens), 32, 0, stream>>>(
      static_cast<const bf16*>(args->x.data), static_cast<const bf16*>(args->weight.data),
      static_cast<bf16*>(args->out.data), static_cast<int>(args->hidden),
      static_cast<float>(args->eps));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
