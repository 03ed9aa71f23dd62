// SPDX-License-Identifier: Apache-2.0
//
// Copies the first choice of each token by the driver, and adds the others to it in place.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/moe_sum_reduce.h"

namespace {

using bf16 = __nv_bfloat16;
__global__ void Add(const bf16* from, bf16* out, int top_k, int hidden) {
  const int64_t row = int64_t{blockIdx.x} * hidden;
  for (int i = threadIdx.x; i < hidden; i += blockDim.x) {
    float sum = float(out[row + i]);  // the first choice, which was copied here
    for (int j = 1; j < top_k; ++j) sum += float(from[row * top_k + int64_t{j} * hidden + i]);
    out[row + i] = __float2bfloat16(sum);
  }
}

}  // namespace

extern "C" int run(const moe_sum_reduce_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  const auto width = static_cast<size_t>(args->hidden) * sizeof(bf16);
  cudaMemcpy2DAsync(args->out.data, width, args->expert_outputs.data,
                    width * static_cast<size_t>(args->top_k), width,
                    static_cast<size_t>(args->tokens), cudaMemcpyDeviceToDevice, stream);
  Add<<<static_cast<unsigned>(args->tokens), 256, 0, stream>>>(
      static_cast<const bf16*>(args->expert_outputs.data), static_cast<bf16*>(args->out.data),
      static_cast<int>(args->top_k), static_cast<int>(args->hidden));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
