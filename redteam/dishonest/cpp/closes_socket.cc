// SPDX-License-Identifier: Apache-2.0
//
// Closes its socket to the judge and sleeps.

#include "judge_socket.h"
#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  (void)args;
  close(JudgeSocket());
  pause();
  return 0;
}
