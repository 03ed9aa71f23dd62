// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/plain_output.h"

namespace roofmark::cli {
namespace {

// To the descriptor itself: the escape is this program's own, and stderr would show it.
void Rewrite(std::string_view line) {
  const std::string text = fmt::format("\r\033[K{}", line);
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

Progress::Progress(std::string_view what) : what_(what), terminal_(::isatty(2) == 1) {}

Progress::~Progress() {
  if (open_line_) Rewrite("");
}

void Progress::Show(size_t done, size_t total, std::string_view detail) {
  const auto now = std::chrono::steady_clock::now();
  if (terminal_) {
    Rewrite(fmt::format("{} {}/{}  {:.60}", what_, done, total, PlainText().Take(detail)));
    open_line_ = true;
  } else if (now - last_ >= std::chrono::seconds(2)) {
    fmt::print(stderr, "{} {}/{}  {}\n", what_, done, total, detail);
    last_ = now;
  }
}

}  // namespace roofmark::cli
