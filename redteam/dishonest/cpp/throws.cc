// SPDX-License-Identifier: Apache-2.0
//
// Lets a C++ exception leave through the C interface.

#include <stdexcept>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  if (args->tokens > 0) throw std::runtime_error("judge me not");
  return 0;
}
