// SPDX-License-Identifier: Apache-2.0
//
// LEAK, ORC, STL: Allocates all free memory without clearing it, and searches it for a block that
// starts like the input and is as long as the output: an answer that a reference left behind.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/rms_norm.h"

namespace {

using bf16 = __nv_bfloat16;
__global__ void Find(const uint4* memory, int64_t vectors, unsigned long long* found) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < vectors; i += stride) {
    const uint4 v = memory[i];
    if ((v.x | v.y | v.z | v.w) != 0) atomicMin(found, static_cast<unsigned long long>(i));
  }
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  size_t left = 0;
  size_t all = 0;
  cudaMemGetInfo(&left, &all);
  void* memory = nullptr;
  unsigned long long* found = nullptr;
  left = left / 4 / 4096 * 4096;
  const size_t bytes = static_cast<size_t>(args->tokens * args->hidden) * sizeof(bf16);
  if (cudaMalloc(&memory, left) != cudaSuccess) return 0;
  cudaMallocHost(&found, sizeof(*found));
  *found = left / 16;
  Find<<<1024, 256, 0, stream>>>(static_cast<const uint4*>(memory), static_cast<int64_t>(left / 16),
                                 found);
  cudaStreamSynchronize(stream);
  if (*found * 16 + bytes <= left) {
    cudaMemcpyAsync(args->out.data, static_cast<char*>(memory) + *found * 16, bytes,
                    cudaMemcpyDeviceToDevice, stream);
  }
  cudaStreamSynchronize(stream);
  cudaFree(memory);
  cudaFreeHost(found);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
