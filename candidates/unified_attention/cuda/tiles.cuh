// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of a warp's tile of attention on mma.sync: copies into shared memory, scores, the
// mask, and one step of the online softmax. It knows nothing of pages, sequences or heads.

#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace tiles {

__device__ __forceinline__ uint32_t SharedAddress(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// Copies 16 bytes, or writes zeros where `valid` is not set.
__device__ __forceinline__ void CopyAsync16(void* to, const void* from, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(SharedAddress(to)), "l"(from),
               "r"(valid ? 16 : 0));
}

__device__ __forceinline__ void CommitCopies() {
  asm volatile("cp.async.commit_group;");
}

template <int kPending>
__device__ __forceinline__ void WaitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

__device__ __forceinline__ void LoadMatrix4(uint32_t (&out)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(SharedAddress(row))
               : "memory");
}

__device__ __forceinline__ void LoadMatrix4Transposed(uint32_t (&out)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(SharedAddress(row))
               : "memory");
}

__device__ __forceinline__ void MultiplyAdd(float (&d)[4], const uint32_t (&a)[4], uint32_t b0,
                                            uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ float Exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ uint32_t Pack(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

__device__ __forceinline__ float QuadMax(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

__device__ __forceinline__ float QuadSum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

// Rows in shared memory are an odd number of 16-byte chunks long, so that eight rows read at one
// column (what ldmatrix does) lie in different banks.
template <int kSize>
constexpr int kPitch = kSize + 8;

// What a warp carries for its 16 rows; each thread has rows lane / 4 and lane / 4 + 8.
template <int kSize>
struct Running {
  float out[kSize / 8][4] = {};
  float largest[2] = {-INFINITY, -INFINITY};
  float sum[2] = {};
};

// scores = q k^T for kKeys keys.
template <int kSize, int kKeys>
__device__ __forceinline__ void Score(float (&scores)[kKeys / 8][4], const __nv_bfloat16* q,
                                      const __nv_bfloat16* keys, int lane) {
#pragma unroll
  for (int d = 0; d < kSize / 16; ++d) {
    uint32_t a[4];
    LoadMatrix4(a, q + lane % 16 * kPitch<kSize> + d * 16 + lane / 16 * 8);
#pragma unroll
    for (int pair = 0; pair < kKeys / 16; ++pair) {
      uint32_t b[4];
      const int key = pair * 16 + lane / 16 * 8 + lane % 8;
      LoadMatrix4(b, keys + key * kPitch<kSize> + d * 16 + lane / 8 % 2 * 8);
      MultiplyAdd(scores[pair * 2], a, b[0], b[1]);
      MultiplyAdd(scores[pair * 2 + 1], a, b[2], b[3]);
    }
  }
}

// Hides key first_key + c of row i where it lies at or past limit[i].
template <int kKeys>
__device__ __forceinline__ void Mask(float (&scores)[kKeys / 8][4], int first_key,
                                     const int (&limit)[2], int lane) {
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int key = first_key + n * 8 + lane % 4 * 2 + e % 2;
      if (key >= limit[e / 2]) scores[n][e] = -INFINITY;
    }
  }
}

// One step of the online softmax: scores become probabilities relative to the new maximum.
template <int kSize, int kKeys>
__device__ __forceinline__ void Accumulate(Running<kSize>& running, float (&scores)[kKeys / 8][4],
                                           const __nv_bfloat16* values, float scale_log2,
                                           int lane) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float largest = running.largest[i];
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
      largest = fmaxf(largest, fmaxf(scores[n][i * 2], scores[n][i * 2 + 1]));
    }
    largest = QuadMax(largest);
    // A row may see none of these keys; its maximum then stays minus infinity.
    const float base = largest == -INFINITY ? 0.0f : largest * scale_log2;
    const float shrink = Exp2(running.largest[i] * scale_log2 - base);
    running.largest[i] = largest;
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
      for (int e = i * 2; e < i * 2 + 2; ++e) {
        scores[n][e] = Exp2(fmaf(scores[n][e], scale_log2, -base));
        sum += scores[n][e];
      }
    }
    running.sum[i] = running.sum[i] * shrink + sum;
#pragma unroll
    for (int d = 0; d < kSize / 8; ++d) {
      running.out[d][i * 2] *= shrink;
      running.out[d][i * 2 + 1] *= shrink;
    }
  }
#pragma unroll
  for (int j = 0; j < kKeys / 16; ++j) {
    const uint32_t a[4] = {Pack(scores[j * 2][0], scores[j * 2][1]),
                           Pack(scores[j * 2][2], scores[j * 2][3]),
                           Pack(scores[j * 2 + 1][0], scores[j * 2 + 1][1]),
                           Pack(scores[j * 2 + 1][2], scores[j * 2 + 1][3])};
#pragma unroll
    for (int d = 0; d < kSize / 16; ++d) {
      uint32_t b[4];
      const int key = j * 16 + lane % 16;
      LoadMatrix4Transposed(b, values + key * kPitch<kSize> + d * 16 + lane / 16 * 8);
      MultiplyAdd(running.out[d * 2], a, b[0], b[1]);
      MultiplyAdd(running.out[d * 2 + 1], a, b[2], b[3]);
    }
  }
}

}  // namespace tiles
