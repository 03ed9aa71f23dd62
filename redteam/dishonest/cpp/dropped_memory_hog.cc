// SPDX-License-Identifier: Apache-2.0
//
// Holds nine gigabytes of shared memory whose pages it lets go of, so that they are resident in no
// process and yet there.

#include <sys/mman.h>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  for (int i = 0; i < 36; ++i) {
    void* part =
        mmap(nullptr, 256 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (part == MAP_FAILED) return 7;
    std::memset(part, 1, 256 << 20);
    madvise(part, 256 << 20, MADV_DONTNEED);
  }
  Right(*args, Out(args));
  return 0;
}
