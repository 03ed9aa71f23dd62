// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_stage.h"

namespace roofmark::device {
namespace {

// Around each call, and ahead of the batch.
constexpr const char* kAroundCalls = R"cuda(
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ __forceinline__ u64 Now() {
  u64 now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// Spins until the host writes `batch` to go[0], or until `limit_ns` have passed; go[1] tells which.
extern "C" __global__ void roofmark_stage_hold(volatile u32* go, u32 batch, u64 limit_ns) {
  const u64 start = Now();
  do {
    if (go[0] == batch) return;
    __nanosleep(200);
  } while (Now() - start < limit_ns);
  go[1] = batch;
}

extern "C" __global__ void roofmark_stage_mark() {}

// Past the L1 caches, which are each multiprocessor's own.
__device__ __forceinline__ u32 Load(const uint4* from) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
  return v.x | v.y | v.z | v.w;
}

// Reads all of it and writes nothing.
__device__ __forceinline__ u32 ReadAll(const uint4* data, u64 vectors) {
  const u64 stride = (u64)gridDim.x * blockDim.x;
  u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  u32 seen = 0;
  for (; i + 3 * stride < vectors; i += 4 * stride) {
    seen |= Load(data + i) | Load(data + i + stride);
    seen |= Load(data + i + 2 * stride) | Load(data + i + 3 * stride);
  }
  for (; i < vectors; i += stride) seen |= Load(data + i);
  return seen;
}

// The condition is never true, since the buffer holds zeros, but the compiler cannot know.
extern "C" __global__ void __launch_bounds__(512)
roofmark_stage_flush(const uint4* data, u64 vectors, u32* sink) {
  const u32 seen = ReadAll(data, vectors);
  if (seen != 0) *sink = seen;
}

// Leaves an operand in the L2 cache, as its producer would have. What is read goes to shared
// memory, since a load whose value nobody wants is left out.
extern "C" __global__ void __launch_bounds__(512)
roofmark_stage_warm(const uint4* data, u64 vectors) {
  __shared__ volatile u32 sink;
  sink = ReadAll(data, vectors);
}
)cuda";

// Whether operands are cold, and another schedule than an idle GPU's.
constexpr const char* kProbeAndDisturbance = R"cuda(
// Lines of ours that are hits and misses for sure lie in one page, whose first line is nobody's:
// it is read ahead of the timed loads, so that they find the page's translation.
__device__ __forceinline__ const char* HitLine(const char* control, u32 line) {
  return control + (u64)(line + 1) * 32768;
}
__device__ __forceinline__ const char* MissLine(const char* control, u32 line) {
  return HitLine(control, line) + 16384;
}

// Makes the lines hits, from other multiprocessors than will time them: which half of the L2 a line
// is in, seen from a multiprocessor, decides how long a hit takes.
extern "C" __global__ void roofmark_stage_touch(const char* control) {
  __shared__ volatile u32 sink;
  if (threadIdx.x != 0) return;
  sink = Load((const uint4*)HitLine(control, (blockIdx.x + 13) % gridDim.x));
}

struct Sample {
  u64 base;  // of the arena that the lines lie in
  u64 offsets[32];
};

// Cycles until the value is there: the store needs it, and the clock is read behind the store.
__device__ __forceinline__ u32 Latency(const char* at, volatile u32* sink) {
  u32 value;
  const long long begin = clock64();
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  *sink = value;
  return (u32)(clock64() - begin);
}

// Block i writes out[i], out[32 + i] and out[64 + i]: the cycles of an operand's line, of a hit and
// of a miss; 0 for operands where there are fewer lines than blocks. One loop for all loads, whose
// first rounds bring its own instructions into the cache.
extern "C" __global__ void roofmark_stage_probe(Sample sample, u32 lines, const char* control,
                                                u32* out) {
  if (threadIdx.x != 0) return;
  __shared__ volatile u32 sink;
  __shared__ const char* at[6];
  __shared__ u32 cycles[6];
  const u32 line = blockIdx.x;
  const u64 offset = line < lines ? sample.offsets[line] : 0;
  const u64 page = ((u64)1 << 21) - 1;
  at[0] = control;
  at[1] = (const char*)(sample.base + (offset & ~page));
  at[2] = control;
  at[3] = line < lines ? (const char*)(sample.base + offset) : control;
  at[4] = HitLine(control, line);
  at[5] = MissLine(control, line);
#pragma unroll 1
  for (int i = 0; i < 6; ++i) cycles[i] = Latency(at[i], &sink);
  out[line] = line < lines ? cycles[3] : 0;
  out[32 + line] = cycles[4];
  out[64 + line] = cycles[5];
}

// Keeps one multiprocessor a block, since each block is given all of its shared memory, for a
// random part of the limit; every other block reads memory meanwhile.
extern "C" __global__ void __launch_bounds__(128)
roofmark_stage_disturb(const uint4* data, u64 vectors, u64 seed, u64 limit_ns, u32* sink) {
  const u64 start = Now();
  u64 drawn = (seed + blockIdx.x) * 0x9e3779b97f4a7c15ull;
  drawn = (drawn ^ (drawn >> 31)) * 0xbf58476d1ce4e5b9ull;
  drawn ^= drawn >> 29;
  const u64 mine = limit_ns / 4 + drawn % (limit_ns - limit_ns / 4 + 1);
  u64 at = (drawn >> 8) % vectors;
  u32 seen = 0;
  while (Now() - start < mine) {
    if ((drawn & 1) == 0) {
      __nanosleep(500);
      continue;
    }
    at = (at + blockDim.x) % vectors;
    seen |= Load(data + (at + threadIdx.x) % vectors);
  }
  if (seen != 0) *sink = seen;
}
)cuda";

}  // namespace

std::string StageSource() {
  return std::string(kAroundCalls) + kProbeAndDisturbance;
}

}  // namespace roofmark::device
