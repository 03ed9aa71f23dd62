// SPDX-License-Identifier: Apache-2.0
//
// Returns from the first four calls and crashes in a timed one.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  static int calls = 0;
  if (++calls > 4) __builtin_trap();
  Right(*args, Out(args));
  return 0;
}
