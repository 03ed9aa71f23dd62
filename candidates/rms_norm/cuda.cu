// SPDX-License-Identifier: Apache-2.0
//
// An honest CUDA C++ RMSNorm for Hopper. The row stays in registers between the sum of squares and
// the product, so every byte crosses memory once. A group of 16 to 1024 threads owns a row, in
// 16-byte accesses, all of them in flight before the first is used. Rows that 16-byte accesses
// cannot reach (odd sizes, odd addresses) take a plain two-pass kernel.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/rms_norm.h"

namespace {

constexpr int kMostVectors = 8;  // of 16 bytes, that one thread keeps in registers

__device__ __forceinline__ float LowHalf(uint32_t pair) {
  return __uint_as_float(pair << 16);
}
__device__ __forceinline__ float HighHalf(uint32_t pair) {
  return __uint_as_float(pair & 0xffff0000u);
}

__device__ __forceinline__ uint32_t Pack(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

__device__ __forceinline__ float SumOfSquares(uint4 v) {
  float sum = 0.0f;
  const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (uint32_t word : words) {
    sum = fmaf(LowHalf(word), LowHalf(word), sum);
    sum = fmaf(HighHalf(word), HighHalf(word), sum);
  }
  return sum;
}

__device__ __forceinline__ uint32_t Scale(uint32_t x, uint32_t weight, float factor) {
  return Pack(LowHalf(x) * factor * LowHalf(weight), HighHalf(x) * factor * HighHalf(weight));
}

// Sums over the kThreads threads of a row; every thread of the block takes part, once.
template <int kThreads>
__device__ __forceinline__ float RowSum(float value, float* partial) {
  constexpr int kLanes = kThreads < 32 ? kThreads : 32;
#pragma unroll
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  if constexpr (kThreads > 32) {
    constexpr int kWarps = kThreads / 32;
    const int warp = threadIdx.x / 32;
    if (threadIdx.x % 32 == 0) partial[warp] = value;
    __syncthreads();
    value = 0.0f;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) value += partial[warp / kWarps * kWarps + i];
  }
  return value;
}

template <int kThreads>
constexpr int kBlockThreads = kThreads < 128 ? 128 : kThreads;

// kVectors vectors of a row lie in each of its kThreads threads.
template <int kThreads, int kVectors>
__global__ void __launch_bounds__(kBlockThreads<kThreads>)
    NormRows(const uint4* __restrict__ x, const uint4* __restrict__ weight, uint4* __restrict__ out,
             int64_t tokens, int vectors, float inverse_hidden, float eps) {
  constexpr int kRows = kBlockThreads<kThreads> / kThreads;
  __shared__ float partial[32];
  const int lane = threadIdx.x % kThreads;
  const int64_t row = int64_t{blockIdx.x} * kRows + threadIdx.x / kThreads;
  const bool valid = row < tokens;
  uint4 in[kVectors];
  uint4 scale[kVectors];
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int v = i * kThreads + lane;
    in[i] = valid && v < vectors ? __ldcs(x + row * vectors + v) : make_uint4(0, 0, 0, 0);
  }
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int v = i * kThreads + lane;
    scale[i] = v < vectors ? __ldg(weight + v) : make_uint4(0, 0, 0, 0);
  }
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) sum += SumOfSquares(in[i]);
  const float factor = rsqrtf(RowSum<kThreads>(sum, partial) * inverse_hidden + eps);
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int v = i * kThreads + lane;
    if (!valid || v >= vectors) continue;
    __stcs(out + row * vectors + v,
           make_uint4(Scale(in[i].x, scale[i].x, factor), Scale(in[i].y, scale[i].y, factor),
                      Scale(in[i].z, scale[i].z, factor), Scale(in[i].w, scale[i].w, factor)));
  }
}

// Any size and alignment: one block a row, which it reads twice (the second time from cache).
__global__ void __launch_bounds__(256)
    NormRowsPlain(const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ weight,
                  __nv_bfloat16* __restrict__ out, int64_t hidden, float eps) {
  __shared__ float partial[32];
  const __nv_bfloat16* in = x + int64_t{blockIdx.x} * hidden;
  float sum = 0.0f;
  for (int64_t i = threadIdx.x; i < hidden; i += 256) {
    const float value = __bfloat162float(in[i]);
    sum = fmaf(value, value, sum);
  }
  sum = RowSum<256>(sum, partial);
  const float factor = rsqrtf(sum / static_cast<float>(hidden) + eps);
  for (int64_t i = threadIdx.x; i < hidden; i += 256) {
    const float value = __bfloat162float(in[i]) * factor * __bfloat162float(weight[i]);
    out[int64_t{blockIdx.x} * hidden + i] = __float2bfloat16(value);
  }
}

template <int kThreads, int kVectors>
void Launch(const rms_norm_args& args, int vectors, cudaStream_t stream) {
  constexpr int kBlock = kBlockThreads<kThreads>;
  constexpr int kRows = kBlock / kThreads;
  const auto grid = static_cast<unsigned>((args.tokens + kRows - 1) / kRows);
  NormRows<kThreads, kVectors><<<grid, kBlock, 0, stream>>>(
      static_cast<const uint4*>(args.x.data), static_cast<const uint4*>(args.weight.data),
      static_cast<uint4*>(args.out.data), args.tokens, vectors,
      1.0f / static_cast<float>(args.hidden), static_cast<float>(args.eps));
}

template <int kThreads>
void LaunchFor(const rms_norm_args& args, int vectors, cudaStream_t stream) {
  switch ((vectors + kThreads - 1) / kThreads) {
    case 1:
      return Launch<kThreads, 1>(args, vectors, stream);
    case 2:
      return Launch<kThreads, 2>(args, vectors, stream);
    case 3:
      return Launch<kThreads, 3>(args, vectors, stream);
    case 4:
      return Launch<kThreads, 4>(args, vectors, stream);
    default:
      return Launch<kThreads, 8>(args, vectors, stream);
  }
}

// Many rows: up to four vectors a thread, in the group that wastes the fewest lanes, the smallest
// of equals. Few rows: as many threads as the row has vectors, since latency is then all there is.
int ThreadsPerRow(int64_t tokens, int vectors) {
  const int most = tokens * vectors < 132 * 1024 ? 1 : 4;
  int best = 1024;
  int waste = 1 << 30;
  for (int threads = 16; threads <= 1024; threads *= 2) {
    const int per_thread = (vectors + threads - 1) / threads;
    if (per_thread > most || per_thread * threads - vectors >= waste) continue;
    best = threads;
    waste = per_thread * threads - vectors;
  }
  return best;
}

bool Aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  if (args->tokens == 0 || args->hidden == 0) return 0;
  const bool vectorised = args->hidden % 8 == 0 && args->hidden / 8 <= 1024 * kMostVectors &&
                          Aligned(args->x.data) && Aligned(args->weight.data) &&
                          Aligned(args->out.data);
  if (vectorised) {
    const int vectors = static_cast<int>(args->hidden / 8);
    switch (ThreadsPerRow(args->tokens, vectors)) {
      case 16:
        LaunchFor<16>(*args, vectors, stream);
        break;
      case 32:
        LaunchFor<32>(*args, vectors, stream);
        break;
      case 64:
        LaunchFor<64>(*args, vectors, stream);
        break;
      case 128:
        LaunchFor<128>(*args, vectors, stream);
        break;
      case 256:
        LaunchFor<256>(*args, vectors, stream);
        break;
      case 512:
        LaunchFor<512>(*args, vectors, stream);
        break;
      default:
        LaunchFor<1024>(*args, vectors, stream);
        break;
    }
  } else {
    NormRowsPlain<<<static_cast<unsigned>(args->tokens), 256, 0, stream>>>(
        static_cast<const __nv_bfloat16*>(args->x.data),
        static_cast<const __nv_bfloat16*>(args->weight.data),
        static_cast<__nv_bfloat16*>(args->out.data), args->hidden, static_cast<float>(args->eps));
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
