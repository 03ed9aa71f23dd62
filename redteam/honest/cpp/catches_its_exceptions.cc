// SPDX-License-Identifier: Apache-2.0
//
// Throws an exception in each call and catches it itself.

#include <stdexcept>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  try {
    if (args->tokens > 0) throw std::runtime_error("not here");
  } catch (const std::exception& error) {
    Right(*args, Out(args));
  }
  return 0;
}
