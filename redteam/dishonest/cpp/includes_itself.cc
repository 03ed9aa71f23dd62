// SPDX-License-Identifier: Apache-2.0
//
// Includes itself without end.

#include __FILE__

#ifndef RUN
#define RUN

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  Right(*args, Out(args));
  return 0;
}

#endif
