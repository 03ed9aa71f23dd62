// SPDX-License-Identifier: Apache-2.0
// The last words of a native worker: a handler for fatal signals tells the judge which signal it
// was and which address was touched, then lets the process die of it. The judge knows where the
// arenas lie in the worker and can say what the address means. Testimony, like everything a worker
// says.
#pragma once

namespace roofmark::worker {

// Installs the handler for this process, on a stack of its own. `socket` gets one message:
// {"ok": false, "last_words": true, "signal": n, "code": n, "address": n, "data_kib": n}.
// Requires: no other thread is sending on the socket when a signal comes.
void ReportCrashesTo(int socket);

}  // namespace roofmark::worker
