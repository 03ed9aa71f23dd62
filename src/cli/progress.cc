// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace roofmark::cli {

Progress::Progress(std::string_view what) : what_(what), terminal_(::isatty(2) == 1) {}

Progress::~Progress() {
  if (open_line_) fmt::print(stderr, "\r\033[K");
}

void Progress::Show(size_t done, size_t total, std::string_view detail) {
  const auto now = std::chrono::steady_clock::now();
  if (terminal_) {
    fmt::print(stderr, "\r\033[K{} {}/{}  {:.60}", what_, done, total, detail);
    std::fflush(stderr);
    open_line_ = true;
  } else if (now - last_ >= std::chrono::seconds(2)) {
    fmt::print(stderr, "{} {}/{}  {}\n", what_, done, total, detail);
    last_ = now;
  }
}

}  // namespace roofmark::cli
