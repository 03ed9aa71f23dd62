// SPDX-License-Identifier: Apache-2.0
//
// silu_and_mul by clusters of two blocks: one brings the gates of a tile into its shared
// memory, the
// other the values, and each makes half of the outputs from both, reading the other's memory.

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/silu_and_mul.h"

namespace {

constexpr int kThreads = 256;
constexpr int kTile = 2048;  // outputs of a cluster

__global__ void __launch_bounds__(kThreads)
    GateByPairs(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ out, int64_t rows,
                int64_t width) {
  __shared__ float half[kTile];
  const auto cluster = cooperative_groups::this_cluster();
  const unsigned rank = cluster.block_rank();
  const int64_t begin = int64_t{blockIdx.x / 2} * kTile;
  for (int k = threadIdx.x; k < kTile; k += kThreads) {
    const int64_t i = begin + k;
    if (i >= rows * width) break;
    const float element = __bfloat162float(x[i / width * 2 * width + rank * width + i % width]);
    half[k] = rank == 0 ? element / (1.0f + __expf(-element)) : element;
  }
  cluster.sync();
  const float* other = cluster.map_shared_rank(half, rank ^ 1u);
  for (int k = static_cast<int>(rank) * (kTile / 2) + static_cast<int>(threadIdx.x);
       k < static_cast<int>(rank + 1) * (kTile / 2); k += kThreads) {
    const int64_t i = begin + k;
    if (i < rows * width) out[i] = __float2bfloat16_rn(half[k] * other[k]);
  }
  cluster.sync();  // nobody leaves while its memory is being read
}

}  // namespace

extern "C" int run(const silu_and_mul_args* args, void*, void* stream) {
  const int64_t tiles = (args->rows * args->width + kTile - 1) / kTile;
  cudaLaunchAttribute pairs = {};
  pairs.id = cudaLaunchAttributeClusterDimension;
  pairs.val.clusterDim.x = 2;
  pairs.val.clusterDim.y = 1;
  pairs.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(2 * tiles));
  config.blockDim = dim3(kThreads);
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &pairs;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, GateByPairs, static_cast<const __nv_bfloat16*>(args->x.data),
                            static_cast<__nv_bfloat16*>(args->out.data), args->rows,
                            args->width) == cudaSuccess
             ? 0
             : 1;
}
