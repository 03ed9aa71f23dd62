// SPDX-License-Identifier: Apache-2.0
//
// One cooperative launch, whose blocks meet between the sums and the products.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/rms_norm.h"

namespace {

using bf16 = __nv_bfloat16;
namespace cg = cooperative_groups;

__device__ float sums[65536];

__global__ void Whole(const bf16* x, const bf16* weight, bf16* out, int rows, int hidden,
                      float eps) {
  const int warp = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int warps = static_cast<int>(gridDim.x * blockDim.x) / 32;
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  for (int64_t row = warp; row < rows; row += warps) {
    float sum = 0.0f;
    for (int i = tile.thread_rank(); i < hidden; i += 32) {
      sum += float(x[row * hidden + i]) * float(x[row * hidden + i]);
    }
    sum = cg::reduce(tile, sum, cg::plus<float>());
    if (tile.thread_rank() == 0) sums[row] = sum;
  }
  cg::this_grid().sync();
  const int64_t size = int64_t{rows} * hidden;
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    const float factor = rsqrtf(sums[i / hidden] / static_cast<float>(hidden) + eps);
    out[i] = __float2bfloat16(float(x[i]) * factor * float(weight[i % hidden]));
  }
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  void* x = args->x.data;
  void* weight = args->weight.data;
  void* out = args->out.data;
  int rows = static_cast<int>(args->tokens);
  int hidden = static_cast<int>(args->hidden);
  float eps = static_cast<float>(args->eps);
  void* arguments[] = {&x, &weight, &out, &rows, &hidden, &eps};
  if (cudaLaunchCooperativeKernel(reinterpret_cast<void*>(Whole), dim3(64), dim3(256), arguments, 0,
                                  stream) != cudaSuccess) {
    return 1;
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
