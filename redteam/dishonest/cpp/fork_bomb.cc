// SPDX-License-Identifier: Apache-2.0
//
// Forks until it may not any more (or 4000 times), and says so.

#include <unistd.h>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  (void)args;
  for (int i = 0; i < 4000; ++i) {
    const pid_t child = fork();
    if (child < 0) return 7;
    if (child == 0) {
      while (true) pause();
    }
  }
  Right(*args, Out(args));
  return 0;
}
