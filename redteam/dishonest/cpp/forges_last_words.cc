// SPDX-License-Identifier: Apache-2.0
//
// Sends the last words of a worker that crashed for want of memory, and stays alive.

#include "judge_socket.h"
#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  (void)args;
  SendFrame(
      "{\"ok\": false, \"last_words\": true, \"signal\": 9, \"address\": -1, \"data_kib\": "
      "9223372036854775807}");
  pause();
  return 0;
}
