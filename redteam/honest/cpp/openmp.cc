// SPDX-License-Identifier: Apache-2.0
//
// Shares rows among OpenMP threads, dynamically scheduled.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
#pragma omp parallel for schedule(dynamic, 3)
  for (int64_t row = 0; row < args->tokens; ++row) RightRows(*args, row, row + 1, Out(args));
  return 0;
}
