// SPDX-License-Identifier: Apache-2.0
//
// RACE: The second kernel is launched as a dependent that may begin early, and takes the sums of
// the first without waiting for them: those of an earlier call are often still there.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/rms_norm.h"

namespace {

using bf16 = __nv_bfloat16;

__global__ void Sums(const bf16* x, float* sums, int hidden) {
  asm volatile("griddepcontrol.launch_dependents;");
  const int64_t row = int64_t{blockIdx.x} * hidden;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < hidden; i += 32) sum += float(x[row + i]) * float(x[row + i]);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// Lacks griddepcontrol.wait.
__global__ void Products(const bf16* x, const bf16* weight, const float* sums, bf16* out,
                         int hidden, float eps) {
  const int64_t row = int64_t{blockIdx.x} * hidden;
  const float factor = rsqrtf(sums[blockIdx.x] / static_cast<float>(hidden) + eps);
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
    out[row + i] = __float2bfloat16(float(x[row + i]) * factor * float(weight[i]));
  }
}

}  // namespace

extern "C" int64_t workspace_bytes(const rms_norm_args* shape) {
  return shape->tokens * static_cast<int64_t>(sizeof(float));
}

extern "C" int run(const rms_norm_args* args, void* workspace, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  const auto rows = static_cast<unsigned>(args->tokens);
  const auto hidden = static_cast<int>(args->hidden);
  const auto* x = static_cast<const bf16*>(args->x.data);
  auto* sums = static_cast<float*>(workspace);
  Sums<<<rows, 32, 0, stream>>>(x, sums, hidden);
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(rows);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  const cudaError_t launched =
      cudaLaunchKernelEx(&config, Products, x, static_cast<const bf16*>(args->weight.data),
                         static_cast<const float*>(sums), static_cast<bf16*>(args->out.data),
                         hidden, static_cast<float>(args->eps));
  return launched == cudaSuccess ? 0 : 1;
}
