// SPDX-License-Identifier: Apache-2.0
// silu_and_mul with CUB's cooperative loads and stores: a block makes a tile of one row.
#include <cuda_bf16.h>

#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>

#include "gate.h"
#include "silu.h"

namespace {

constexpr int kItems = 4;
constexpr int kTile = THREADS * kItems;

__global__ void __launch_bounds__(THREADS)
    GateRow(const __nv_bfloat16* __restrict__ x, __nv_bfloat16* __restrict__ out, int64_t rows,
            int64_t width, int64_t tiles) {
  using Load = cub::BlockLoad<__nv_bfloat16, THREADS, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<__nv_bfloat16, THREADS, kItems, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
  } shared;
  const int64_t row = int64_t{blockIdx.x} / tiles;
  const int64_t column = int64_t{blockIdx.x} % tiles * kTile;
  const int valid = static_cast<int>(width - column < kTile ? width - column : kTile);
  const __nv_bfloat16* from = x + row * 2 * width + column;
  __nv_bfloat16 gates[kItems];
  __nv_bfloat16 values[kItems];
  Load(shared.load).Load(from, gates, valid, __float2bfloat16(0.0f));
  __syncthreads();
  Load(shared.load).Load(from + width, values, valid, __float2bfloat16(0.0f));
  __syncthreads();
  for (int i = 0; i < kItems; ++i) {
    gates[i] = __float2bfloat16_rn(Silu(__bfloat162float(gates[i])) * __bfloat162float(values[i]));
  }
  Store(shared.store).Store(out + row * width + column, gates, valid);
}

}  // namespace

void LaunchGate(const void* x, void* out, int64_t rows, int64_t width, cudaStream_t stream) {
  const int64_t tiles = (width + kTile - 1) / kTile;
  GateRow<<<static_cast<unsigned>(rows * tiles), THREADS, 0, stream>>>(
      static_cast<const __nv_bfloat16*>(x), static_cast<__nv_bfloat16*>(out), rows, width, tiles);
}
