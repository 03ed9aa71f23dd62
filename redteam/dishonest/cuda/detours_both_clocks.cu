// SPDX-License-Identifier: Apache-2.0
//
// CLK, TMP: Overwrites both CUPTI's records and the event times, so that two of three clocks tell
// the same lie.

#include "detours.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  DetourRecords();
  DetourTimes();
  Right(*args, args->out.data, stream);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
