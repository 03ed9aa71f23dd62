// SPDX-License-Identifier: Apache-2.0
//
// Calls itself without end.

#include "right_norm.h"

[[gnu::noinline]] int64_t Deeper(int64_t depth) {
  volatile int64_t kept[64];
  kept[depth & 63] = depth;
  return Deeper(depth + 1) + kept[depth & 31];
}

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  return static_cast<int>(Deeper(args->tokens) & 1);
}
