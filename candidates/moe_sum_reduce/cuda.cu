// SPDX-License-Identifier: Apache-2.0
//
// An honest CUDA C++ sum over a token's expert outputs: 16 bytes of the output a thread, each
// choice read once and added in float32. Rows that 16-byte accesses cannot reach go element by
// element.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/moe_sum_reduce.h"

namespace {

constexpr int kBlock = 256;

__device__ __forceinline__ void Add(float (&sums)[8], uint4 v) {
  const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sums[2 * i] += __uint_as_float(words[i] << 16);
    sums[2 * i + 1] += __uint_as_float(words[i] & 0xffff0000u);
  }
}

__device__ __forceinline__ uint32_t Pack(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// `vectors` is a row in vectors of 16 bytes.
__global__ void __launch_bounds__(kBlock)
    AddVectors(const uint4* __restrict__ given, uint4* __restrict__ out, int64_t total,
               int64_t vectors, int top_k) {
  const int64_t i = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= total) return;
  const uint4* from = given + i / vectors * top_k * vectors + i % vectors;
  float sums[8] = {};
#pragma unroll 8
  for (int choice = 0; choice < top_k; ++choice) Add(sums, __ldcs(from + choice * vectors));
  __stcs(out + i, make_uint4(Pack(sums[0], sums[1]), Pack(sums[2], sums[3]), Pack(sums[4], sums[5]),
                             Pack(sums[6], sums[7])));
}

__global__ void __launch_bounds__(kBlock)
    AddElements(const __nv_bfloat16* __restrict__ given, __nv_bfloat16* __restrict__ out,
                int64_t total, int64_t hidden, int top_k) {
  const int64_t i = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= total) return;
  const __nv_bfloat16* from = given + i / hidden * top_k * hidden + i % hidden;
  float sum = 0.0f;
  for (int choice = 0; choice < top_k; ++choice) sum += __bfloat162float(from[choice * hidden]);
  out[i] = __float2bfloat16(sum);
}

bool Aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

}  // namespace

extern "C" int run(const moe_sum_reduce_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  const int64_t elements = args->tokens * args->hidden;
  if (elements == 0) return 0;
  const auto top_k = static_cast<int>(args->top_k);
  if (args->hidden % 8 == 0 && Aligned(args->expert_outputs.data) && Aligned(args->out.data)) {
    const int64_t total = elements / 8;
    AddVectors<<<static_cast<unsigned>((total + kBlock - 1) / kBlock), kBlock, 0, stream>>>(
        static_cast<const uint4*>(args->expert_outputs.data), static_cast<uint4*>(args->out.data),
        total, args->hidden / 8, top_k);
  } else {
    AddElements<<<static_cast<unsigned>((elements + kBlock - 1) / kBlock), kBlock, 0, stream>>>(
        static_cast<const __nv_bfloat16*>(args->expert_outputs.data),
        static_cast<__nv_bfloat16*>(args->out.data), elements, args->hidden, top_k);
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
