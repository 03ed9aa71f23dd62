// SPDX-License-Identifier: Apache-2.0
//
// Reads its input far behind its end, as a kernel without a bounds check does.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  Right(*args, Out(args));
  const volatile char* far = static_cast<char*>(args->x.data) + Size(*args) * 2 + (1 << 19);
  return *far == 77 ? 1 : 0;
}
