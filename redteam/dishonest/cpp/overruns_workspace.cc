// SPDX-License-Identifier: Apache-2.0
//
// Asks for a small workspace and writes far behind it.

#include "right_norm.h"

extern "C" int64_t workspace_bytes(const rms_norm_args* /*args*/) {
  return 4096;
}

extern "C" int run(const rms_norm_args* args, void* workspace, void* /*stream*/) {
  std::memset(workspace, 0, 1 << 20);
  Right(*args, Out(args));
  return 0;
}
