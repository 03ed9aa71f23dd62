// SPDX-License-Identifier: Apache-2.0
//
// Writes each output three times, wrong ones first.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  for (int64_t i = 0; i < Size(*args); ++i) Out(args)[i] = 0x7fc0;  // NaN
  std::memcpy(args->out.data, args->x.data, static_cast<size_t>(Size(*args)) * 2);
  Right(*args, Out(args));
  return 0;
}
