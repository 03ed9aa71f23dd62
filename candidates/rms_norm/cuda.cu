// SPDX-License-Identifier: Apache-2.0
//
// An honest CUDA C++ RMSNorm for Hopper. The row stays in registers between the sum of squares and
// the product, so every byte crosses memory once. A group of 16 to 1024 threads owns a row, in
// 16-byte accesses; the grid is persistent, so the weight is read once a block. Rows that 16-byte
// accesses cannot reach (odd sizes, odd addresses) take a plain two-pass kernel.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/rms_norm.h"

namespace {

constexpr int kMaxVectors = 8;  // 16-byte vectors of a row that one thread keeps in registers

__device__ __forceinline__ float LowHalf(uint32_t pair) { return __uint_as_float(pair << 16); }
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

// Sums over the kThreads threads of a row; every thread of the block takes part.
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
constexpr int kBlockThreads = kThreads < 256 ? 256 : kThreads;

template <int kThreads, int kVectors>
__global__ void __launch_bounds__(kBlockThreads<kThreads>, kThreads <= 256 ? 2 : 1)
    NormRows(const uint4* __restrict__ x, const uint4* __restrict__ weight, uint4* __restrict__ out,
             int64_t tokens, int vectors, float inverse_hidden, float eps) {
  constexpr int kSlots = kBlockThreads<kThreads> / kThreads;    // rows that a block works on side by side
  constexpr int kRows = kVectors == 1 ? 4 : kVectors == 2 ? 2 : 1;  // and in flight in one thread
  constexpr bool kKeepWeight = kThreads <= 256 || kVectors <= 4;
  __shared__ float partial[2][32];
  const int lane = threadIdx.x % kThreads;
  const int slot = threadIdx.x / kThreads;
  uint4 w[kVectors];
  if constexpr (kKeepWeight) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int v = i * kThreads + lane;
      w[i] = v < vectors ? __ldg(weight + v) : make_uint4(0, 0, 0, 0);
    }
  }
  int turn = 0;
  const int64_t stride = int64_t{gridDim.x} * kSlots * kRows;
  for (int64_t first = int64_t{blockIdx.x} * kSlots * kRows; first < tokens; first += stride) {
    uint4 kept[kRows][kVectors];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int64_t row = first + r * kSlots + slot;
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        const int v = i * kThreads + lane;
        kept[r][i] = row < tokens && v < vectors ? __ldcs(x + row * vectors + v)
                                                 : make_uint4(0, 0, 0, 0);
      }
    }
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const int64_t row = first + r * kSlots + slot;
      float sum = 0.0f;
#pragma unroll
      for (int i = 0; i < kVectors; ++i) sum += SumOfSquares(kept[r][i]);
      // Two buffers in turn: a warp may write the next partial sums while another reads these.
      sum = RowSum<kThreads>(sum, partial[turn]);
      turn ^= 1;
      const float factor = rsqrtf(sum * inverse_hidden + eps);
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        const int v = i * kThreads + lane;
        if (row >= tokens || v >= vectors) continue;
        uint4 scale;
        if constexpr (kKeepWeight) {
          scale = w[i];
        } else {
          scale = __ldg(weight + v);
        }
        const uint4 in = kept[r][i];
        __stcs(out + row * vectors + v,
               make_uint4(Scale(in.x, scale.x, factor), Scale(in.y, scale.y, factor),
                          Scale(in.z, scale.z, factor), Scale(in.w, scale.w, factor)));
      }
    }
  }
}

// Any size and alignment: one block a row, which it reads twice (the second time from cache).
__global__ void __launch_bounds__(256)
    NormRowsPlain(const __nv_bfloat16* __restrict__ x, const __nv_bfloat16* __restrict__ weight,
                  __nv_bfloat16* __restrict__ out, int64_t tokens, int64_t hidden, float eps) {
  __shared__ float partial[2][32];
  int turn = 0;
  for (int64_t row = blockIdx.x; row < tokens; row += gridDim.x) {
    const __nv_bfloat16* in = x + row * hidden;
    float sum = 0.0f;
    for (int64_t i = threadIdx.x; i < hidden; i += 256) {
      const float value = __bfloat162float(in[i]);
      sum = fmaf(value, value, sum);
    }
    sum = RowSum<256>(sum, partial[turn]);
    turn ^= 1;
    const float factor = rsqrtf(sum / static_cast<float>(hidden) + eps);
    for (int64_t i = threadIdx.x; i < hidden; i += 256) {
      const float value = __bfloat162float(in[i]) * factor * __bfloat162float(weight[i]);
      out[row * hidden + i] = __float2bfloat16(value);
    }
  }
}

template <int kThreads, int kVectors>
void Launch(const rms_norm_args& args, int vectors, cudaStream_t stream) {
  constexpr int kBlock = kBlockThreads<kThreads>;
  constexpr int kRows = kBlock / kThreads * (kVectors == 1 ? 4 : kVectors == 2 ? 2 : 1);
  static const int resident = [] {
    int device = 0, processors = 132, blocks = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NormRows<kThreads, kVectors>, kBlock, 0);
    return processors * (blocks > 0 ? blocks : 1);
  }();
  const int64_t wanted = (args.tokens + kRows - 1) / kRows;
  const int grid = static_cast<int>(wanted < resident ? wanted : resident);
  NormRows<kThreads, kVectors><<<grid, kBlock, 0, stream>>>(
      static_cast<const uint4*>(args.x.data), static_cast<const uint4*>(args.weight.data),
      static_cast<uint4*>(args.out.data), args.tokens, vectors,
      1.0f / static_cast<float>(args.hidden), static_cast<float>(args.eps));
}

template <int kThreads>
void LaunchFor(const rms_norm_args& args, int vectors, cudaStream_t stream) {
  switch ((vectors + kThreads - 1) / kThreads) {
    case 1: return Launch<kThreads, 1>(args, vectors, stream);
    case 2: return Launch<kThreads, 2>(args, vectors, stream);
    case 3: return Launch<kThreads, 3>(args, vectors, stream);
    case 4: return Launch<kThreads, 4>(args, vectors, stream);
    case 5: return Launch<kThreads, 5>(args, vectors, stream);
    case 6: return Launch<kThreads, 6>(args, vectors, stream);
    case 7: return Launch<kThreads, 7>(args, vectors, stream);
    default: return Launch<kThreads, 8>(args, vectors, stream);
  }
}

bool Aligned(const void* address) { return reinterpret_cast<uintptr_t>(address) % 16 == 0; }

// Many rows: few threads a row, each with up to eight loads in flight. Few rows: as many threads as
// the row has vectors, since latency is then all there is.
int ThreadsPerRow(int64_t tokens, int vectors) {
  int per_thread = kMaxVectors;
  while (per_thread > 1 && tokens * (vectors / per_thread) < 132 * 512) per_thread /= 2;
  int threads = 16;
  while (threads < 1024 && threads * per_thread < vectors) threads *= 2;
  return threads;
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  if (args->tokens == 0 || args->hidden == 0) return 0;
  const bool vectorised = args->hidden % 8 == 0 && args->hidden / 8 <= 1024 * kMaxVectors &&
                          Aligned(args->x.data) && Aligned(args->weight.data) &&
                          Aligned(args->out.data);
  if (vectorised) {
    const int vectors = static_cast<int>(args->hidden / 8);
    switch (ThreadsPerRow(args->tokens, vectors)) {
      case 16: LaunchFor<16>(*args, vectors, stream); break;
      case 32: LaunchFor<32>(*args, vectors, stream); break;
      case 64: LaunchFor<64>(*args, vectors, stream); break;
      case 128: LaunchFor<128>(*args, vectors, stream); break;
      case 256: LaunchFor<256>(*args, vectors, stream); break;
      case 512: LaunchFor<512>(*args, vectors, stream); break;
      default: LaunchFor<1024>(*args, vectors, stream); break;
    }
  } else {
    const int grid = static_cast<int>(args->tokens < 132 * 8 ? args->tokens : 132 * 8);
    NormRowsPlain<<<grid, 256, 0, stream>>>(static_cast<const __nv_bfloat16*>(args->x.data),
                                            static_cast<const __nv_bfloat16*>(args->weight.data),
                                            static_cast<__nv_bfloat16*>(args->out.data),
                                            args->tokens, args->hidden,
                                            static_cast<float>(args->eps));
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
