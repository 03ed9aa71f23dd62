// SPDX-License-Identifier: Apache-2.0
//
// MUT: Maps the memory of its input a second time, writable, and zeroes it there.

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

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

void Right(const rms_norm_args& args, void* out, cudaStream_t stream) {
  Norm<<<static_cast<unsigned>(args.tokens), 32, 0, stream>>>(
      static_cast<const bf16*>(args.x.data), static_cast<const bf16*>(args.weight.data),
      static_cast<bf16*>(out), static_cast<int>(args.hidden), static_cast<float>(args.eps));
}
}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  const auto symbol = [&](const char* name) { return dlsym(driver, name); };
  using Retain = int (*)(unsigned long long*, void*);
  using Reserve =
      int (*)(unsigned long long*, size_t, size_t, unsigned long long, unsigned long long);
  using Map = int (*)(unsigned long long, size_t, size_t, unsigned long long, unsigned long long);
  using SetAccess = int (*)(unsigned long long, size_t, const void*, size_t);
  struct Access {
    int type, id, flags;
  } access = {1 /* device */, 0, 3 /* read and write */};
  constexpr size_t kPage = size_t{2} << 20;
  Right(*args, args->out.data, stream);
  unsigned long long handle = 0;
  unsigned long long at = 0;
  reinterpret_cast<Retain>(symbol("cuMemRetainAllocationHandle"))(&handle, args->x.data);
  reinterpret_cast<Reserve>(symbol("cuMemAddressReserve"))(&at, kPage, 0, 0, 0);
  reinterpret_cast<Map>(symbol("cuMemMap"))(at, kPage, 0, handle, 0);
  if (reinterpret_cast<SetAccess>(symbol("cuMemSetAccess"))(at, kPage, &access, 1) == 0) {
    cudaMemsetAsync(reinterpret_cast<void*>(at), 0, kPage, stream);
  }
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
