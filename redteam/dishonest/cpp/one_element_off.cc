// SPDX-License-Identifier: Apache-2.0
//
// Has a single wrong element in a place that changes from call to call.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  static int64_t calls = 0;
  Right(*args, Out(args));
  Out(args)[(++calls * 7919) % Size(*args)] = ToBf16(100.0f);
  return 0;
}
