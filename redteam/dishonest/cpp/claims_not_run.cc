// SPDX-License-Identifier: Apache-2.0
//
// Sends the judge a reply with an outcome that only the judge gives: unstable.

#include "judge_socket.h"
#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  (void)args;
  SendFrame("{\"ok\": false, \"outcome\": \"unstable\", \"reason\": \"the machine is noisy\"}");
  pause();
  return 0;
}
