// SPDX-License-Identifier: Apache-2.0
// Lines from a pipe, one at a time, without reading further than was asked for: whoever waits for
// the answer to a line gets it before the next one is read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"

namespace roofmark {

class LineReader {
 public:
  // Does not own `fd`. Longer lines than `most_bytes` are read over and said to be too long.
  LineReader(int fd, size_t most_bytes) : fd_(fd), most_bytes_(most_bytes) {}

  struct Line {
    size_t number = 0;  // from 1
    std::string text;   // without the line's end; empty where it is too long
    bool too_long = false;
  };
  enum class Wait { kYes, kNo };
  // The next line, the last one also without an end. Nothing at the end of the input, or, where it
  // may not wait, when no whole line is there yet. Errors: kIo.
  Result<std::optional<Line>> Next(Wait wait);
  bool at_end() const { return ended_ && buffer_.empty(); }

 private:
  Result<bool> Fill(Wait wait);
  std::optional<Line> Cut();

  int fd_;
  size_t most_bytes_;
  std::string buffer_;
  size_t number_ = 0;
  bool skipping_ = false;
  bool ended_ = false;
};

}  // namespace roofmark
