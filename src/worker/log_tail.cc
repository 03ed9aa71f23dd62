// SPDX-License-Identifier: Apache-2.0
#include "worker/log_tail.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "base/text.h"

namespace roofmark::worker {
namespace {

constexpr size_t kPipeBytes = 64 << 10;  // pipe(7)

}  // namespace

LogTail::LogTail(Fd pipe)
    : pipe_(std::move(pipe)), stop_(::eventfd(0, EFD_CLOEXEC)), thread_([this] { ReadAll(); }) {}

LogTail::~LogTail() {
  Finish();
}

void LogTail::ReadAll() {
  std::array<char, 16384> bytes;
  // A writer that outlives its sandbox must not keep this thread: once told to stop, it reads what
  // a pipe holds at most, and no more.
  for (size_t rest = kPipeBytes; rest > 0;) {
    std::array<pollfd, 2> polls = {{{pipe_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    if (::poll(polls.data(), polls.size(), -1) < 0 && errno != EINTR) return;
    if (polls[0].revents == 0) {
      if (polls[1].revents != 0) return;
      continue;
    }
    const ssize_t n = ::read(pipe_.get(), bytes.data(), bytes.size());
    if (n == 0 || (n < 0 && errno != EINTR)) return;
    if (n < 0) continue;
    const std::lock_guard lock(mutex_);
    text_.append(bytes.data(), static_cast<size_t>(n));
    if (text_.size() > 2 * kLogTailBytes) text_.erase(0, text_.size() - kLogTailBytes);
    if (polls[1].revents != 0) rest -= std::min(rest, static_cast<size_t>(n));
  }
}

std::string LogTail::Text() {
  const std::lock_guard lock(mutex_);
  const size_t skip = text_.size() > kLogTailBytes ? text_.size() - kLogTailBytes : 0;
  return ValidUtf8(std::string_view(text_).substr(skip));
}

void LogTail::Finish() {
  const uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

}  // namespace roofmark::worker
