// SPDX-License-Identifier: Apache-2.0
//
// silu_and_mul in two kernels with a workspace between them: silu(gate) in float, then the product.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/silu_and_mul.h"

namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 1056;  // eight on each of an H200's multiprocessors

__global__ void Activate(const __nv_bfloat16* __restrict__ x, float* __restrict__ silu,
                         int64_t rows, int64_t width) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * width; i += step) {
    const float gate = __bfloat162float(x[i / width * 2 * width + i % width]);
    silu[i] = gate / (1.0f + __expf(-gate));
  }
}

__global__ void Multiply(const __nv_bfloat16* __restrict__ x, const float* __restrict__ silu,
                         __nv_bfloat16* __restrict__ out, int64_t rows, int64_t width) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * width; i += step) {
    const float value = __bfloat162float(x[i / width * 2 * width + width + i % width]);
    out[i] = __float2bfloat16_rn(silu[i] * value);
  }
}

}  // namespace

extern "C" int64_t workspace_bytes(const silu_and_mul_args* shape) {
  return shape->rows * shape->width * static_cast<int64_t>(sizeof(float));
}

extern "C" int run(const silu_and_mul_args* args, void* workspace, void* stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  const auto* x = static_cast<const __nv_bfloat16*>(args->x.data);
  auto* silu = static_cast<float*>(workspace);
  Activate<<<kBlocks, kThreads, 0, on>>>(x, silu, args->rows, args->width);
  Multiply<<<kBlocks, kThreads, 0, on>>>(x, silu, static_cast<__nv_bfloat16*>(args->out.data),
                                         args->rows, args->width);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
