// SPDX-License-Identifier: Apache-2.0
//
// An honest CUDA C++ quantisation of rows to e4m3fnuz: a block has a row, finds its largest element
// and then writes its codes; the second reading comes from a cache.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/fp8_dynamic_per_token_quant.h"

namespace {

constexpr int kBlock = 256;
constexpr int kWarps = kBlock / 32;

// Codes of e4m3fnuz (bias 8), which NVIDIA's units do not make: nearest, ties to even, no negative
// zero; |value| is at most 240.
__device__ __forceinline__ uint8_t Encode(float value) {
  const uint32_t bits = __float_as_uint(value);
  const uint32_t size = bits & 0x7fffffffu;
  // Normal numbers keep three bits of the significand. Below 2^-7 codes are multiples of 2^-10, and
  // 8192 + |value| has exactly that spacing.
  const uint32_t normal = ((size + 0x7ffffu + ((size >> 20) & 1u)) >> 20) - ((127u - 8u) << 3);
  const uint32_t subnormal = __float_as_uint(fabsf(value) + 8192.0f) - 0x46000000u;
  const uint32_t code = fabsf(value) < 0.0078125f ? subnormal : normal;
  return static_cast<uint8_t>(code != 0 ? code | (bits >> 31 << 7) : 0u);
}

__device__ float LargestOfBlock(float value) {
  __shared__ float of_warp[kWarps];
  for (int step = 16; step > 0; step /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
  }
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  float largest = of_warp[0];
  for (int warp = 1; warp < kWarps; ++warp) largest = fmaxf(largest, of_warp[warp]);
  return largest;
}

__global__ void __launch_bounds__(kBlock)
    Quantise(const __nv_bfloat16* __restrict__ x, uint8_t* __restrict__ codes,
             float* __restrict__ scales, int64_t hidden, float fp8_max, float min_scale) {
  const __nv_bfloat16* row = x + blockIdx.x * hidden;
  uint8_t* to = codes + blockIdx.x * hidden;
  float largest = 0.0f;
  for (int64_t i = threadIdx.x; i < hidden; i += kBlock) {
    largest = fmaxf(largest, fabsf(__bfloat162float(row[i])));
  }
  const float scale = fmaxf(LargestOfBlock(largest) / fp8_max, min_scale);
  for (int64_t i = threadIdx.x; i < hidden; i += kBlock) {
    to[i] = Encode(fminf(fmaxf(__bfloat162float(row[i]) / scale, -fp8_max), fp8_max));
  }
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
}

}  // namespace

extern "C" int run(const fp8_dynamic_per_token_quant_args* args, void* /*workspace*/,
                   void* stream_handle) {
  if (args->tokens == 0) return 0;
  Quantise<<<static_cast<unsigned>(args->tokens), kBlock, 0,
             static_cast<cudaStream_t>(stream_handle)>>>(
      static_cast<const __nv_bfloat16*>(args->x.data), static_cast<uint8_t*>(args->q.data),
      static_cast<float*>(args->scale.data), args->hidden, static_cast<float>(args->fp8_max),
      static_cast<float>(args->min_scale));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
