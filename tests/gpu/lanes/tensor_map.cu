// SPDX-License-Identifier: Apache-2.0
//
// silu_and_mul through tensor maps: the bulk copy engine brings both halves of a tile into shared
// memory. The map is encoded by the driver's function, found through the runtime, in each call,
// because tensors come at changing addresses.

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/silu_and_mul.h"

namespace {

constexpr int kRows = 16;
constexpr int kColumns = 128;
constexpr int kThreads = 256;
constexpr int kBytes = 2 * kRows * kColumns * static_cast<int>(sizeof(__nv_bfloat16));

__device__ __forceinline__ uint32_t Shared(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ __forceinline__ void LoadTile(void* to, const CUtensorMap* map, int column, int row,
                                         uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(Shared(to)),
      "l"(map), "r"(column), "r"(row), "r"(Shared(barrier))
      : "memory");
}

__device__ __forceinline__ float Silu(float gate) {
  return gate / (1.0f + __expf(-gate));
}

__global__ void __launch_bounds__(kThreads)
    GateTiles(const __grid_constant__ CUtensorMap map, __nv_bfloat16* __restrict__ out,
              int64_t rows, int64_t width) {
  __shared__ alignas(128) __nv_bfloat16 gates[kRows * kColumns];
  __shared__ alignas(128) __nv_bfloat16 values[kRows * kColumns];
  __shared__ alignas(8) uint64_t barrier;
  const int64_t row = int64_t{blockIdx.x} * kRows;
  const int64_t column = int64_t{blockIdx.y} * kColumns;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(Shared(&barrier)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(Shared(&barrier)),
                 "r"(kBytes)
                 : "memory");
    LoadTile(gates, &map, static_cast<int>(column), static_cast<int>(row), &barrier);
    LoadTile(values, &map, static_cast<int>(width + column), static_cast<int>(row), &barrier);
  }
  __syncthreads();
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "wait: mbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n"
      "@!done bra wait;\n"
      "}\n" ::"r"(Shared(&barrier))
      : "memory");
  for (int i = threadIdx.x; i < kRows * kColumns; i += kThreads) {
    const int64_t r = row + i / kColumns;
    const int64_t c = column + i % kColumns;
    if (r < rows && c < width) {
      out[r * width + c] =
          __float2bfloat16_rn(Silu(__bfloat162float(gates[i])) * __bfloat162float(values[i]));
    }
  }
}

// Rows whose stride the copy engine cannot take (not a multiple of 16 bytes).
__global__ void GatePlain(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ out,
                          int64_t rows, int64_t width) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * width; i += step) {
    const __nv_bfloat16* row = x + i / width * 2 * width + i % width;
    out[i] = __float2bfloat16_rn(Silu(__bfloat162float(row[0])) * __bfloat162float(row[width]));
  }
}

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                            CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                            CUtensorMapFloatOOBfill);
Encode encode = nullptr;

}  // namespace

extern "C" int init(const silu_and_mul_args*) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found,
                                                             12000, cudaEnableDefault, &result);
  if (error != cudaSuccess || result != cudaDriverEntryPointSuccess) return 1;
  encode = reinterpret_cast<Encode>(found);
  return 0;
}

extern "C" int run(const silu_and_mul_args* args, void*, void* stream) {
  const int64_t rows = args->rows;
  const int64_t width = args->width;
  auto* out = static_cast<__nv_bfloat16*>(args->out.data);
  auto* const on = static_cast<cudaStream_t>(stream);
  if (width % 4 != 0) {
    GatePlain<<<1024, 256, 0, on>>>(static_cast<const __nv_bfloat16*>(args->x.data), out, rows,
                                    width);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
  }
  CUtensorMap map;
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(2 * width), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[1] = {static_cast<cuuint64_t>(4 * width)};
  const cuuint32_t box[2] = {kColumns, kRows};
  const cuuint32_t steps[2] = {1, 1};
  if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, args->x.data, sizes, strides, box, steps,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
    return 1;
  }
  const dim3 grid(static_cast<unsigned>((rows + kRows - 1) / kRows),
                  static_cast<unsigned>((width + kColumns - 1) / kColumns));
  GateTiles<<<grid, kThreads, 0, on>>>(map, out, rows, width);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
