// SPDX-License-Identifier: Apache-2.0
//
// Starts std::threads in each call and joins them before it returns.

#include <thread>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  const int64_t half = args->tokens / 2;
  std::thread other([args, half] { RightRows(*args, 0, half, Out(args)); });
  RightRows(*args, half, args->tokens, Out(args));
  other.join();
  return 0;
}
