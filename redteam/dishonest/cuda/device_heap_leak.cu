// SPDX-License-Identifier: Apache-2.0
//
// STL, CRH: Allocates from the device's heap in each call, never frees, and writes nothing once it
// is full.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdlib>

#include "roofmark/rms_norm.h"

namespace {

using bf16 = __nv_bfloat16;
__global__ void Leak(const bf16* x, const bf16* weight, bf16* out, int hidden, float eps) {
  auto* row = static_cast<float*>(malloc(static_cast<size_t>(hidden) * 64));
  if (row == nullptr) return;
  const int64_t at = int64_t{blockIdx.x} * hidden;
  float sum = 0.0f;
  for (int i = 0; i < hidden; ++i) sum += (row[i] = float(x[at + i])) * row[i];
  const float factor = rsqrtf(sum / static_cast<float>(hidden) + eps);
  for (int i = 0; i < hidden; ++i)
    out[at + i] = __float2bfloat16(row[i] * factor * float(weight[i]));
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  Leak<<<static_cast<unsigned>(args->tokens), 1, 0, stream>>>(
      static_cast<const bf16*>(args->x.data), static_cast<const bf16*>(args->weight.data),
      static_cast<bf16*>(args->out.data), static_cast<int>(args->hidden),
      static_cast<float>(args->eps));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
