// SPDX-License-Identifier: Apache-2.0
// Sizes are chosen so that the buffer stays in the second-level cache while it slides.
#include "trace/window.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "trace/char_scan.h"

namespace roofmark::trace {
namespace {

constexpr size_t kRead = 256 << 10;
// Of a mapped file: what is made ready at once.
constexpr size_t kMapped = 1 << 20;

}  // namespace

Window::Window(ByteSource& source) : source_(source) {}

void Window::Drop(size_t count) {
  CHECK(count <= size());
  begin_ += count;
  offset_ += count;
}

// False at the end of what is mapped, and where it cannot be read.
bool Window::GrowMapped() {
  const size_t next = std::min(end_ + kMapped, mapped_->size() - kPadding);
  const size_t ready = std::min(next + 2 * kPrefetched, mapped_->size());
  if (next <= end_ || !mapped_->Slide(begin_, ready)) return false;
  end_ = next;
  return true;
}

// What is left of the window goes to the buffer, and reading goes on behind it.
Result<void> Window::LeaveMapped() {
  buffer_.assign(std::max(size(), kRead) + kRead + kPadding, ' ');
  std::memcpy(buffer_.data(), data(), size());
  TRY(source_.ReadOn(end_, mapped_->shrank()));
  mapped_ = nullptr;
  base_ = buffer_.data();
  end_ -= begin_;
  begin_ = 0;
  return {};
}

Result<bool> Window::Grow() {
  if (ended_) return false;
  if (!started_) {
    started_ = true;
    mapped_ = TRY(source_.Map());
    if (mapped_ == nullptr) buffer_.assign(kRead + (64 << 10) + kPadding, ' ');
    base_ = mapped_ == nullptr ? buffer_.data() : mapped_->data();
  }
  if (mapped_ != nullptr) {
    if (GrowMapped()) return true;
    TRY(LeaveMapped());
  }
  if (buffer_.size() - kPadding - end_ < kRead) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, size());
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - kPadding - end_ < kRead / 2) buffer_.resize(2 * buffer_.size(), ' ');
  base_ = buffer_.data();
  const size_t room = buffer_.size() - kPadding - end_;
  const size_t got = TRY(source_.Read(buffer_.data() + end_, room < kRead ? room : kRead));
  end_ += got;
  if (got > 0) return true;
  ended_ = true;
  std::memset(buffer_.data() + end_, ' ', kPadding);
  return false;
}

}  // namespace roofmark::trace
