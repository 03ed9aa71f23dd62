// SPDX-License-Identifier: Apache-2.0
//
// Is wrong in one call of three, as a race would be.

#include <random>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  Right(*args, Out(args));
  if (std::random_device()() % 3 == 0) Out(args)[11] ^= 0x0400;
  return 0;
}
