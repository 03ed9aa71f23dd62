// SPDX-License-Identifier: Apache-2.0
//
// Answers one infinity among right values.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  Right(*args, Out(args));
  Out(args)[Size(*args) / 3] = 0x7f80;
  return 0;
}
