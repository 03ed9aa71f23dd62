// SPDX-License-Identifier: Apache-2.0
//
// Jumps into a frame that has returned long ago.

#include <setjmp.h>

#include "right_norm.h"

jmp_buf place;
extern "C" int init(const rms_norm_args* /*args*/) {
  (void)setjmp(place);
  return 0;
}

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  (void)args;
  longjmp(place, 1);
}
