// SPDX-License-Identifier: Apache-2.0
// Sizes are chosen so that the buffer stays in the second-level cache while it slides.
#include "trace/window.h"

#include <cstring>

#include "base/check.h"

namespace roofmark::trace {
namespace {

constexpr size_t kRead = 256 << 10;

}  // namespace

Window::Window(ByteSource& source) : source_(source), buffer_(kRead + (64 << 10) + kPadding, ' ') {}

void Window::Drop(size_t count) {
  CHECK(count <= size());
  begin_ += count;
  offset_ += count;
}

Result<bool> Window::Grow() {
  if (ended_) return false;
  if (buffer_.size() - kPadding - end_ < kRead) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, size());
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - kPadding - end_ < kRead / 2) buffer_.resize(2 * buffer_.size(), ' ');
  const size_t room = buffer_.size() - kPadding - end_;
  const size_t got = TRY(source_.Read(buffer_.data() + end_, room < kRead ? room : kRead));
  end_ += got;
  if (got > 0) return true;
  ended_ = true;
  std::memset(buffer_.data() + end_, ' ', kPadding);
  return false;
}

}  // namespace roofmark::trace
