// SPDX-License-Identifier: Apache-2.0
//
// STL: A cooperative launch of more blocks than fit at once is refused by the driver; the error is
// dropped.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/rms_norm.h"

namespace {

using bf16 = __nv_bfloat16;

// The right answer, one warp a row.
__global__ void Norm(const bf16* x, const bf16* weight, bf16* out, int hidden, float eps) {
  const int64_t row = int64_t{blockIdx.x} * hidden;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < hidden; i += 32) sum += float(x[row + i]) * float(x[row + i]);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  const float factor = rsqrtf(sum / static_cast<float>(hidden) + eps);
  for (int i = threadIdx.x; i < hidden; i += 32) {
    out[row + i] = __float2bfloat16(float(x[row + i]) * factor * float(weight[i]));
  }
}
}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  void* x = args->x.data;
  void* weight = args->weight.data;
  void* out = args->out.data;
  int hidden = static_cast<int>(args->hidden);
  float eps = static_cast<float>(args->eps);
  void* arguments[] = {&x, &weight, &out, &hidden, &eps};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(Norm), dim3(1u << 20), dim3(1024), arguments,
                              0, stream);
  (void)cudaGetLastError();
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
