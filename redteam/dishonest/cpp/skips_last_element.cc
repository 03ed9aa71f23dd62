// SPDX-License-Identifier: Apache-2.0
//
// Writes everything but the very last element.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  const uint16_t before = Out(args)[Size(*args) - 1];
  Right(*args, Out(args));
  Out(args)[Size(*args) - 1] = before;
  return 0;
}
