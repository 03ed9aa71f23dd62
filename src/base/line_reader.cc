// SPDX-License-Identifier: Apache-2.0
#include "base/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace roofmark {

// The next line of the buffer, if a whole one is there.
std::optional<LineReader::Line> LineReader::Cut() {
  const size_t end = buffer_.find('\n');
  const bool whole = end != std::string::npos;
  if (!whole && buffer_.size() > most_bytes_) {
    // What is too long is not kept; its line still counts when its end comes.
    buffer_.clear();
    skipping_ = true;
  }
  if (!whole && (!ended_ || (buffer_.empty() && !skipping_))) return std::nullopt;
  Line line{.number = ++number_, .text = buffer_.substr(0, end)};
  buffer_.erase(0, whole ? end + 1 : buffer_.size());
  line.too_long = skipping_ || line.text.size() > most_bytes_;
  if (line.too_long) line.text.clear();
  skipping_ = false;
  return line;
}

// False where nothing can be had now.
Result<bool> LineReader::Fill(Wait wait) {
  pollfd ready{fd_, POLLIN, 0};
  const int polled = ::poll(&ready, 1, wait == Wait::kYes ? -1 : 0);
  if (polled < 0 && errno == EINTR) return true;
  if (polled == 0) return false;
  std::array<char, 1 << 16> bytes;
  const ssize_t size = ::read(fd_, bytes.data(), bytes.size());
  if (size < 0 && errno == EINTR) return true;
  if (size < 0) return Fail(ErrorKind::kIo, std::string("reading lines: ") + std::strerror(errno));
  if (size == 0) ended_ = true;
  buffer_.append(bytes.data(), static_cast<size_t>(size));
  return true;
}

Result<std::optional<LineReader::Line>> LineReader::Next(Wait wait) {
  while (true) {
    if (std::optional<Line> line = Cut()) return line;
    if (ended_) return std::optional<Line>();
    if (!TRY(Fill(wait))) return std::optional<Line>();
  }
}

}  // namespace roofmark
