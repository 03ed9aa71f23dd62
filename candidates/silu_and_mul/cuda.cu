// SPDX-License-Identifier: Apache-2.0
//
// An honest CUDA C++ SiLU-and-multiply for Hopper: one pass over memory, one 16-byte vector of the
// output a thread. Widths that 16-byte accesses cannot reach take a plain kernel, one element a
// thread.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/silu_and_mul.h"

namespace {

constexpr int kBlock = 256;

__device__ __forceinline__ float LowHalf(uint32_t pair) {
  return __uint_as_float(pair << 16);
}
__device__ __forceinline__ float HighHalf(uint32_t pair) {
  return __uint_as_float(pair & 0xffff0000u);
}

// Far below zero the exponential overflows to infinity and the quotient is (minus) zero, as it
// should.
__device__ __forceinline__ float SiluMul(float gate, float value) {
  return __fdividef(gate, 1.0f + __expf(-gate)) * value;
}

__device__ __forceinline__ uint32_t SiluMulPair(uint32_t gate, uint32_t value) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(SiluMul(LowHalf(gate), LowHalf(value)),
                                                    SiluMul(HighHalf(gate), HighHalf(value)));
  return *reinterpret_cast<const uint32_t*>(&pair);
}

// `vectors` is the output row in 16-byte vectors; vector i of the output lies in row i / vectors,
// and its gate at i + row * vectors of the input, its value one output row further.
template <typename Index>
__global__ void __launch_bounds__(kBlock)
    GateVectors(const uint4* __restrict__ x, uint4* __restrict__ out, Index total, Index vectors) {
  const Index i = Index{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= total) return;
  const Index source = i + i / vectors * vectors;
  const uint4 gate = __ldcs(x + source);
  const uint4 value = __ldcs(x + source + vectors);
  __stcs(out + i, make_uint4(SiluMulPair(gate.x, value.x), SiluMulPair(gate.y, value.y),
                             SiluMulPair(gate.z, value.z), SiluMulPair(gate.w, value.w)));
}

__global__ void __launch_bounds__(kBlock)
    GateElements(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ out,
                 int64_t total, int64_t width) {
  const int64_t i = int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (i >= total) return;
  const int64_t source = i + i / width * width;
  const float gate = __bfloat162float(x[source]);
  const float value = __bfloat162float(x[source + width]);
  out[i] = __float2bfloat16(SiluMul(gate, value));
}

template <typename Index>
void Launch(const silu_and_mul_args& args, int64_t total, cudaStream_t stream) {
  const auto grid = static_cast<unsigned>((total + kBlock - 1) / kBlock);
  GateVectors<Index><<<grid, kBlock, 0, stream>>>(
      static_cast<const uint4*>(args.x.data), static_cast<uint4*>(args.out.data),
      static_cast<Index>(total), static_cast<Index>(args.width / 8));
}

bool Aligned(const void* address) {
  return reinterpret_cast<uintptr_t>(address) % 16 == 0;
}

}  // namespace

extern "C" int run(const silu_and_mul_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  const int64_t elements = args->rows * args->width;
  if (elements == 0) return 0;
  if (args->width % 8 == 0 && Aligned(args->x.data) && Aligned(args->out.data)) {
    const int64_t total = elements / 8;
    if (total < (int64_t{1} << 30)) {
      Launch<uint32_t>(*args, total, stream);
    } else {
      Launch<uint64_t>(*args, total, stream);
    }
  } else {
    const auto grid = static_cast<unsigned>((elements + kBlock - 1) / kBlock);
    GateElements<<<grid, kBlock, 0, stream>>>(static_cast<const __nv_bfloat16*>(args->x.data),
                                              static_cast<__nv_bfloat16*>(args->out.data), elements,
                                              args->width);
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
