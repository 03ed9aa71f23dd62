// SPDX-License-Identifier: Apache-2.0
// Progress of long work: one line that is rewritten on a terminal, plain lines elsewhere (at most
// one every two seconds). Goes to stderr, so that stdout stays data.
#pragma once

#include <chrono>
#include <cstddef>
#include <string_view>

namespace roofmark::cli {

class Progress {
 public:
  // `what` names the work, "judging".
  explicit Progress(std::string_view what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void Show(size_t done, size_t total, std::string_view detail);

 private:
  std::string_view what_;
  bool terminal_;
  bool open_line_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace roofmark::cli
