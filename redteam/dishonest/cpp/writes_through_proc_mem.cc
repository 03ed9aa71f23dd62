// SPDX-License-Identifier: Apache-2.0
//
// Writes to its input through /proc/self/mem, which heeds no protection of pages.

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  Right(*args, Out(args));
  const int fd = open("/proc/self/mem", O_RDWR);
  const uint64_t zeros[8] = {};
  const auto at = static_cast<off_t>(reinterpret_cast<uintptr_t>(args->x.data));
  return pwrite(fd, zeros, sizeof zeros, at) == sizeof zeros ? 0 : 7;
}
