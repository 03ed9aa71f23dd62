// SPDX-License-Identifier: Apache-2.0
//
// Is right for forty calls, and from then on says that it failed.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  static int calls = 0;
  Right(*args, Out(args));
  return ++calls > 40 ? 9 : 0;
}
