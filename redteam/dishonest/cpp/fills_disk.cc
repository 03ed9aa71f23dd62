// SPDX-License-Identifier: Apache-2.0
//
// Writes files wherever it may until it may not any more (or has 6 GB).

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  static char bytes[1 << 20];
  std::memset(bytes, 1, sizeof bytes);
  int written = 0;
  for (const char* folder : {"/scratch", "/tmp", "/dev/shm", "/var/tmp", "/run"}) {
    for (int file = 0; file < 8; ++file) {
      const std::string path = std::string(folder) + "/full" + std::to_string(file);
      const int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
      for (int i = 0; fd >= 0 && i < 1024 && written < 6 * 1024; ++i) {
        if (write(fd, bytes, sizeof bytes) != sizeof bytes) break;
        ++written;
      }
      if (fd >= 0) close(fd);
    }
  }
  if (written < 6 * 1024) return 7;
  Right(*args, Out(args));
  return 0;
}
