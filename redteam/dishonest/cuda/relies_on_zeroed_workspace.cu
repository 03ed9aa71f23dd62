// SPDX-License-Identifier: Apache-2.0
//
// STL: Adds to sums in its workspace that it never cleared.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/rms_norm.h"

namespace {

using bf16 = __nv_bfloat16;
__global__ void Square(const bf16* x, float* sums, int hidden) {
  const int64_t row = int64_t{blockIdx.x} * hidden;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < hidden; i += 32) sum += float(x[row + i]) * float(x[row + i]);
  atomicAdd(sums + blockIdx.x, sum);
}

__global__ void Scale(const bf16* x, const bf16* weight, const float* sums, bf16* out, int hidden,
                      float eps) {
  const int64_t row = int64_t{blockIdx.x} * hidden;
  const float factor = rsqrtf(sums[blockIdx.x] / static_cast<float>(hidden) + eps);
  for (int i = threadIdx.x; i < hidden; i += 32) {
    out[row + i] = __float2bfloat16(float(x[row + i]) * factor * float(weight[i]));
  }
}

}  // namespace

extern "C" int64_t workspace_bytes(const rms_norm_args* args) {
  return args->tokens * static_cast<int64_t>(sizeof(float));
}

extern "C" int run(const rms_norm_args* args, void* workspace, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  const auto rows = static_cast<unsigned>(args->tokens);
  const auto hidden = static_cast<int>(args->hidden);
  const auto* x = static_cast<const bf16*>(args->x.data);
  Square<<<rows, 32, 0, stream>>>(x, static_cast<float*>(workspace), hidden);
  Scale<<<rows, 32, 0, stream>>>(
      x, static_cast<const bf16*>(args->weight.data), static_cast<const float*>(workspace),
      static_cast<bf16*>(args->out.data), hidden, static_cast<float>(args->eps));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
