// SPDX-License-Identifier: Apache-2.0
// The one owner type for C handles: each handle becomes an alias of Owned with its closing
// function.
#pragma once

#include <unistd.h>

#include <memory>
#include <utility>

#include "base/check.h"

namespace roofmark {

// Owned<sqlite3, sqlite3_close_v2> db(raw);  pointer-like handles.
template <auto Close>
struct Closer {
  template <typename T>
  void operator()(T* handle) const {
    Close(handle);
  }
};
template <typename T, auto Close>
using Owned = std::unique_ptr<T, Closer<Close>>;

// A file descriptor that is closed once. -1 means none.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace roofmark
