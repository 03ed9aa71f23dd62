// SPDX-License-Identifier: Apache-2.0
//
// An honest CUDA cache writer: one block a token, 16 bytes a thread at a time where the row allows
// it, 2 otherwise. The caches are updated in place, so only the tokens' own rows move.

#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/reshape_and_cache.h"

namespace {

template <typename Vector>
__global__ void WriteRows(const Vector* __restrict__ key, const Vector* __restrict__ value,
                          const int64_t* __restrict__ slots, Vector* key_cache, Vector* value_cache,
                          int64_t row) {
  const int64_t from = blockIdx.x * row;
  const int64_t to = slots[blockIdx.x] * row;
  for (int64_t i = threadIdx.x; i < row; i += blockDim.x) {
    key_cache[to + i] = key[from + i];
    value_cache[to + i] = value[from + i];
  }
}

template <typename Vector>
void Launch(const reshape_and_cache_args& args, int64_t row, cudaStream_t stream) {
  const auto threads = static_cast<unsigned>(row < 256 ? (row + 31) / 32 * 32 : 256);
  WriteRows<Vector><<<static_cast<unsigned>(args.tokens), threads, 0, stream>>>(
      static_cast<const Vector*>(args.key.data), static_cast<const Vector*>(args.value.data),
      static_cast<const int64_t*>(args.slot_mapping.data),
      static_cast<Vector*>(args.key_cache.data), static_cast<Vector*>(args.value_cache.data), row);
}

}  // namespace

extern "C" int run(const reshape_and_cache_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  const int64_t elements = args->kv_heads * args->head_size;
  if (args->tokens == 0) return 0;
  if (elements % 8 == 0) {
    Launch<uint4>(*args, elements / 8, stream);
  } else {
    Launch<uint16_t>(*args, elements, stream);
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
