// SPDX-License-Identifier: Apache-2.0
//
// CLK, TMP: Overwrites the driver's cuEventElapsedTime in its process: events read a fifth.

#include "detours.h"

namespace {

void Slowly(const rms_norm_args& args, cudaStream_t stream) {
  for (int i = 0; i < 8; ++i) Right(args, args.out.data, stream);  // long enough to be worth a lie
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  DetourTimes();
  Slowly(*args, stream);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
