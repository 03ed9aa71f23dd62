// SPDX-License-Identifier: Apache-2.0
//
// An honest CUDA C++ rotary embedding with three position axes: a block has a token, picks the
// cosines and sines that count into shared memory once, and turns all heads of query and key.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/mrope.h"

namespace {

constexpr int kBlock = 256;

__device__ void RotateHeads(const __nv_bfloat16* from, __nv_bfloat16* to, const float* cos,
                            const float* sin, int heads, int half, int head_size) {
  for (int i = threadIdx.x; i < heads * half; i += kBlock) {
    const int at = i / half * head_size + i % half;
    const float c = cos[i % half];
    const float s = sin[i % half];
    const float first = __bfloat162float(from[at]);
    const float second = __bfloat162float(from[at + half]);
    to[at] = __float2bfloat16(first * c - second * s);
    to[at + half] = __float2bfloat16(second * c + first * s);
  }
  const int rest = head_size - 2 * half;
  for (int i = threadIdx.x; i < heads * rest; i += kBlock) {
    const int at = i / rest * head_size + 2 * half + i % rest;
    to[at] = from[at];
  }
}

__global__ void __launch_bounds__(kBlock)
    Rotate(const __nv_bfloat16* __restrict__ q, const __nv_bfloat16* __restrict__ k,
           const float* __restrict__ cos, const float* __restrict__ sin,
           __nv_bfloat16* __restrict__ q_out, __nv_bfloat16* __restrict__ k_out, int query_heads,
           int kv_heads, int head_size, int half, int in_t, int in_h) {
  extern __shared__ float picked[];
  const int64_t token = blockIdx.x;
  for (int i = threadIdx.x; i < half; i += kBlock) {
    const int64_t axis = (i >= in_t ? 1 : 0) + (i >= in_h ? 1 : 0);
    const int64_t at = (axis * gridDim.x + token) * half + i;
    picked[i] = cos[at];
    picked[half + i] = sin[at];
  }
  __syncthreads();
  const int64_t of_q = token * query_heads * head_size;
  const int64_t of_k = token * kv_heads * head_size;
  RotateHeads(q + of_q, q_out + of_q, picked, picked + half, query_heads, half, head_size);
  RotateHeads(k + of_k, k_out + of_k, picked, picked + half, kv_heads, half, head_size);
}

}  // namespace

extern "C" int run(const mrope_args* args, void* /*workspace*/, void* stream_handle) {
  if (args->tokens == 0) return 0;
  const auto half = static_cast<int>(args->half);
  const auto in_t = static_cast<int>(args->section_t);
  const size_t shared = 2 * static_cast<size_t>(half) * sizeof(float);
  Rotate<<<static_cast<unsigned>(args->tokens), kBlock, shared,
           static_cast<cudaStream_t>(stream_handle)>>>(
      static_cast<const __nv_bfloat16*>(args->q.data),
      static_cast<const __nv_bfloat16*>(args->k.data), static_cast<const float*>(args->cos.data),
      static_cast<const float*>(args->sin.data), static_cast<__nv_bfloat16*>(args->q_out.data),
      static_cast<__nv_bfloat16*>(args->k_out.data), static_cast<int>(args->query_heads),
      static_cast<int>(args->kv_heads), static_cast<int>(args->head_size), half, in_t,
      in_t + static_cast<int>(args->section_h));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
