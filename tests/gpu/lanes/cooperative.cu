// SPDX-License-Identifier: Apache-2.0
//
// silu_and_mul in one cooperative launch: silu(gate) goes to the workspace, the whole grid
// waits for
// itself, and the product is made by other threads than those that wrote it.

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/silu_and_mul.h"

namespace {

constexpr int kThreads = 256;
int blocks = 0;

__global__ void __launch_bounds__(kThreads)
    ActivateThenMultiply(const __nv_bfloat16* x, float* silu, __nv_bfloat16* out, int64_t rows,
                         int64_t width) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  const int64_t count = rows * width;
  const int64_t mine = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (int64_t i = mine; i < count; i += step) {
    const float gate = __bfloat162float(x[i / width * 2 * width + i % width]);
    silu[i] = gate / (1.0f + __expf(-gate));
  }
  cooperative_groups::this_grid().sync();
  for (int64_t k = mine; k < count; k += step) {
    const int64_t i = count - 1 - k;
    const float value = __bfloat162float(x[i / width * 2 * width + width + i % width]);
    out[i] = __float2bfloat16_rn(silu[i] * value);
  }
}

}  // namespace

extern "C" int64_t workspace_bytes(const silu_and_mul_args* shape) {
  return shape->rows * shape->width * static_cast<int64_t>(sizeof(float));
}

extern "C" int init(const silu_and_mul_args*) {
  int device = 0;
  int units = 0;
  int each = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, ActivateThenMultiply, kThreads, 0) !=
          cudaSuccess) {
    return 1;
  }
  blocks = units * each;
  return blocks > 0 ? 0 : 1;
}

extern "C" int run(const silu_and_mul_args* args, void* workspace, void* stream) {
  const auto* x = static_cast<const __nv_bfloat16*>(args->x.data);
  auto* silu = static_cast<float*>(workspace);
  auto* out = static_cast<__nv_bfloat16*>(args->out.data);
  int64_t rows = args->rows;
  int64_t width = args->width;
  void* values[] = {&x, &silu, &out, &rows, &width};
  return cudaLaunchCooperativeKernel(reinterpret_cast<void*>(&ActivateThenMultiply),
                                     dim3(static_cast<unsigned>(blocks)), dim3(kThreads), values, 0,
                                     static_cast<cudaStream_t>(stream)) == cudaSuccess
             ? 0
             : 1;
}
