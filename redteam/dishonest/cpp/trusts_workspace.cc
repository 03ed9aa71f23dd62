// SPDX-License-Identifier: Apache-2.0
//
// Adds into a workspace that it never cleared.

#include "right_norm.h"

extern "C" int64_t workspace_bytes(const rms_norm_args* args) {
  return args->tokens * 4;
}

extern "C" int run(const rms_norm_args* args, void* workspace, void* /*stream*/) {
  auto* sums = static_cast<float*>(workspace);
  Right(*args, Out(args));
  for (int64_t i = 0; i < args->tokens; ++i) {
    sums[i] += 1.0f;  // 1 if somebody had cleared it
    for (int64_t j = 0; j < args->hidden; ++j) {
      uint16_t* at = Out(args) + i * args->hidden + j;
      *at = ToBf16(ToFloat(*at) * sums[i]);
    }
  }
  return 0;
}
