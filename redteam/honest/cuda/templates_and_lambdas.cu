// SPDX-License-Identifier: Apache-2.0
//
// A kernel template over a device lambda, of which two instances run.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/moe_sum_reduce.h"

namespace {

using bf16 = __nv_bfloat16;
template <typename Map>
__global__ void ForEach(int64_t begin, int64_t end, Map map) {
  const int64_t i = begin + int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (i < end) map(i);
}

struct Sum {
  const bf16* from;
  bf16* out;
  int64_t top_k, hidden;
  __device__ void operator()(int64_t i) const {
    float sum = 0.0f;
    for (int64_t j = 0; j < top_k; ++j) {
      sum += float(from[(i / hidden * top_k + j) * hidden + i % hidden]);
    }
    out[i] = __float2bfloat16(sum);
  }
};

struct Backwards {
  Sum sum;
  int64_t last;
  __device__ void operator()(int64_t i) const { sum(last - i); }
};

}  // namespace

extern "C" int run(const moe_sum_reduce_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  const int64_t size = args->tokens * args->hidden;
  const int64_t half = size / 2;
  const Sum sum{static_cast<const bf16*>(args->expert_outputs.data),
                static_cast<bf16*>(args->out.data), args->top_k, args->hidden};
  ForEach<<<static_cast<unsigned>((half + 255) / 256), 256, 0, stream>>>(0, half, sum);
  const Backwards backwards{sum, size - 1};
  ForEach<<<static_cast<unsigned>((size - half + 255) / 256), 256, 0, stream>>>(0, size - half,
                                                                                backwards);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
