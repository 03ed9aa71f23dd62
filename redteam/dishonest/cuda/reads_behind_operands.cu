// SPDX-License-Identifier: Apache-2.0
//
// OOB: Right answers, but each row also reads 4 KiB behind the end of the inputs: in production
// that is another tensor, or nothing at all.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/rms_norm.h"

namespace {

using bf16 = __nv_bfloat16;

// One warp a row. What lies behind the inputs counts for nothing, but is read.
__global__ void Norm(const bf16* x, const bf16* weight, bf16* out, int64_t total, int hidden,
                     float eps) {
  const int64_t row = int64_t{blockIdx.x} * hidden;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < hidden; i += 32) sum += float(x[row + i]) * float(x[row + i]);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  const float behind = float(x[total + 64 * threadIdx.x]);
  if (behind == 12345.0f) sum += 1e-30f;
  const float factor = rsqrtf(sum / static_cast<float>(hidden) + eps);
  for (int i = threadIdx.x; i < hidden; i += 32) {
    out[row + i] = __float2bfloat16(float(x[row + i]) * factor * float(weight[i]));
  }
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  Norm<<<static_cast<unsigned>(args->tokens), 32, 0, static_cast<cudaStream_t>(stream_handle)>>>(
      static_cast<const bf16*>(args->x.data), static_cast<const bf16*>(args->weight.data),
      static_cast<bf16*>(args->out.data), args->tokens * args->hidden,
      static_cast<int>(args->hidden), static_cast<float>(args->eps));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
