// SPDX-License-Identifier: Apache-2.0
//
// Writes half a megabyte behind its output.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  Right(*args, Out(args));
  volatile char* far = static_cast<char*>(args->out.data) + Size(*args) * 2 + (1 << 19);
  *far = 1;
  return 0;
}
