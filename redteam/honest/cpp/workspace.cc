// SPDX-License-Identifier: Apache-2.0
//
// Computes into a workspace first, and copies from there.

#include "right_norm.h"

extern "C" int64_t workspace_bytes(const rms_norm_args* args) {
  return Size(*args) * 2;
}

extern "C" int run(const rms_norm_args* args, void* workspace, void* /*stream*/) {
  auto* first = static_cast<uint16_t*>(workspace);
  Right(*args, first);
  std::memcpy(args->out.data, first, static_cast<size_t>(Size(*args)) * 2);
  return 0;
}
