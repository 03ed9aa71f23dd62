// SPDX-License-Identifier: Apache-2.0
//
// Gives the right answer, and writes one element in front of it.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  Right(*args, Out(args));
  Out(args)[-1] = 0x3f80;
  return 0;
}
