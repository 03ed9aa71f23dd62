// SPDX-License-Identifier: Apache-2.0
//
// A kernel on a stream of its own launches the work from the device; the caller's stream waits for
// that stream, hence for parent and children.

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

__global__ void Parent(const bf16* x, const bf16* weight, bf16* out, int rows, int hidden,
                       float eps) {
  Norm<<<rows, 32, 0, cudaStreamFireAndForget>>>(x, weight, out, hidden, eps);
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  static cudaStream_t side = nullptr;
  static cudaEvent_t event = nullptr;
  if (side == nullptr) {
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  }
  cudaEventRecord(event, stream);
  cudaStreamWaitEvent(side, event, 0);
  Parent<<<1, 1, 0, side>>>(static_cast<const bf16*>(args->x.data),
                            static_cast<const bf16*>(args->weight.data),
                            static_cast<bf16*>(args->out.data), static_cast<int>(args->tokens),
                            static_cast<int>(args->hidden), static_cast<float>(args->eps));
  cudaEventRecord(event, side);
  cudaStreamWaitEvent(stream, event, 0);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
