// SPDX-License-Identifier: Apache-2.0
//
// Leaves with exit code 0 in the middle of its call.

#include <unistd.h>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  Right(*args, Out(args));
  _exit(0);
}
