// SPDX-License-Identifier: Apache-2.0
//
// Divides whole numbers by zero.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  volatile int64_t zero = args->tokens - args->tokens;
  return static_cast<int>(args->tokens / zero);
}
