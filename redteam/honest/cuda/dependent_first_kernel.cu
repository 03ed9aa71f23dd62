// SPDX-License-Identifier: Apache-2.0
//
// Its one kernel is launched as a dependent of whatever came before it on the stream, as every
// kernel of some servers is; it waits on the device for that before it reads.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/rms_norm.h"

namespace {

using bf16 = __nv_bfloat16;

// One warp a row. The weights, which no kernel before this one writes, are asked for ahead.
__global__ void Norm(const bf16* x, const bf16* weight, bf16* out, int hidden, float eps) {
  for (int i = threadIdx.x * 64; i < hidden; i += 32 * 64) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(weight + i));
  }
  asm volatile("griddepcontrol.wait;" ::: "memory");
  const int64_t row = int64_t{blockIdx.x} * hidden;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < hidden; i += 32) sum += float(x[row + i]) * float(x[row + i]);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  const float factor = rsqrtf(sum / static_cast<float>(hidden) + eps);
  for (int i = threadIdx.x; i < hidden; i += 32) {
    out[row + i] = __float2bfloat16(float(x[row + i]) * factor * float(weight[i]));
  }
  asm volatile("griddepcontrol.launch_dependents;");
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(args->tokens));
  config.blockDim = dim3(32);
  config.stream = static_cast<cudaStream_t>(stream_handle);
  config.attrs = &early;
  config.numAttrs = 1;
  const cudaError_t launched = cudaLaunchKernelEx(
      &config, Norm, static_cast<const bf16*>(args->x.data),
      static_cast<const bf16*>(args->weight.data), static_cast<bf16*>(args->out.data),
      static_cast<int>(args->hidden), static_cast<float>(args->eps));
  return launched == cudaSuccess ? 0 : 1;
}
