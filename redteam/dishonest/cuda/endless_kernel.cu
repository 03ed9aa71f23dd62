// SPDX-License-Identifier: Apache-2.0
//
// CRH: Never ends: the stream, and with it the judge, would wait for ever.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/rms_norm.h"

namespace {

using bf16 = __nv_bfloat16;
__global__ void Endless(volatile bf16* out) {
  while (*reinterpret_cast<volatile uint16_t*>(const_cast<bf16*>(out)) != 0x1234) __nanosleep(1000);
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  Endless<<<1, 1, 0, stream>>>(static_cast<bf16*>(args->out.data));
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
