// SPDX-License-Identifier: Apache-2.0
//
// An honest CUDA C++ top-k filter: a block has a row and finds its k-th largest logit by fixing an
// integer that has the order of floats, eight bits at a time, with a histogram in shared memory.
// The row stays in cache between the passes.

#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/topk_filter.h"

namespace {

constexpr int kBlock = 1024;
constexpr int kDigits = 256;

// Integers in the order of the floats.
__device__ __forceinline__ uint32_t Ordered(float value) {
  const uint32_t bits = __float_as_uint(value);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

__global__ void __launch_bounds__(kBlock)
    FilterRow(const float* __restrict__ logits, float* __restrict__ out, int64_t vocab, int top_k) {
  __shared__ int counts[kDigits];
  __shared__ uint32_t prefix;  // of the k-th largest, as far as it is known
  __shared__ int wanted;       // its place among those that share the prefix
  const float* row = logits + blockIdx.x * vocab;
  if (threadIdx.x == 0) {
    prefix = 0;
    wanted = top_k;
  }
  for (int shift = 24; shift >= 0; shift -= 8) {
    if (threadIdx.x < kDigits) counts[threadIdx.x] = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < vocab; i += kBlock) {
      const uint32_t code = Ordered(row[i]);
      if (shift == 24 || code >> (shift + 8) == prefix) atomicAdd(&counts[code >> shift & 255], 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      int digit = kDigits - 1;
      int left = wanted;
      while (digit > 0 && counts[digit] < left) left -= counts[digit--];
      wanted = left;
      prefix = prefix << 8 | static_cast<uint32_t>(digit);
    }
    __syncthreads();
  }
  for (int64_t i = threadIdx.x; i < vocab; i += kBlock) {
    const float value = row[i];
    out[blockIdx.x * vocab + i] = Ordered(value) >= prefix ? value : -INFINITY;
  }
}

}  // namespace

extern "C" int run(const topk_filter_args* args, void* /*workspace*/, void* stream_handle) {
  if (args->rows == 0) return 0;
  FilterRow<<<static_cast<unsigned>(args->rows), kBlock, 0,
              static_cast<cudaStream_t>(stream_handle)>>>(
      static_cast<const float*>(args->logits.data), static_cast<float*>(args->out.data),
      args->vocab, static_cast<int>(args->top_k));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
