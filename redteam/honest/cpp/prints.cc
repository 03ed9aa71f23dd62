// SPDX-License-Identifier: Apache-2.0
//
// Prints what it does, with the word passed in it, on both streams.

#include <cstdio>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  std::printf("rms_norm of %lld rows: passed\n", static_cast<long long>(args->tokens));
  std::fprintf(stderr, "outcome: passed\n");
  Right(*args, Out(args));
  return 0;
}
