// SPDX-License-Identifier: Apache-2.0
//
// Has a destructor and an atexit hook that take their time.

#include <unistd.h>

#include <cstdlib>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  static const bool hooked = std::atexit([] { usleep(300000); }) == 0;
  (void)hooked;
  Right(*args, Out(args));
  return 0;
}
