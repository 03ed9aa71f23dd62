// SPDX-License-Identifier: Apache-2.0
//
// Has a name with blanks, a comma and letters of other alphabets.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  Right(*args, Out(args));
  return 0;
}
