// SPDX-License-Identifier: Apache-2.0
#include "worker/bell_loop.h"

#include <fmt/format.h>
#include <immintrin.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "worker/bell.h"

namespace roofmark::worker {
namespace {

constexpr size_t kPageBytes = 4096;
// About a millisecond of looking; then the core is left to others, who may be the judge preparing
// the next call. An empty ring just before a timed one brings the worker back to looking.
constexpr int kLooks = 1 << 14;

uint64_t AwaitRing(const Bell& bell, uint64_t last) {
  while (true) {
    for (int look = 0; look < kLooks; ++look) {
      const uint64_t number = bell.ring.load(std::memory_order_acquire);
      if (number != last) return number;
      _mm_pause();
    }
    const timespec pause = {.tv_sec = 0, .tv_nsec = 50'000};
    ::nanosleep(&pause, nullptr);
  }
}

Result<int64_t> Serve(Bell& bell, const std::function<Result<void>(uint64_t)>& call) {
  using Clock = std::chrono::steady_clock;
  int64_t calls = 0;
  uint64_t last = 0;
  while (true) {
    last = AwaitRing(bell, last);
    bell.status.store(0, std::memory_order_relaxed);
    if (last == kBellStop || (last & kBellEmpty) != 0) {
      bell.worker_ns.store(0, std::memory_order_relaxed);
      bell.done.store(last, std::memory_order_release);
      if (last == kBellStop) return calls;
      continue;
    }
    const Clock::time_point start = Clock::now();
    const Result<void> result = call(last - 1);
    const Clock::time_point end = Clock::now();
    ++calls;
    bell.worker_ns.store(static_cast<uint64_t>(std::chrono::nanoseconds(end - start).count()),
                         std::memory_order_relaxed);
    if (!result) bell.status.store(1, std::memory_order_relaxed);
    bell.done.store(last, std::memory_order_release);
    if (!result) return std::unexpected(result.error());
  }
}

}  // namespace

Result<int64_t> ServeBell(int fd, const std::function<Result<void>(uint64_t)>& call) {
  void* const page = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) {
    return Fail(ErrorKind::kDevice, fmt::format("mapping the bell: {}", std::strerror(errno)));
  }
  Result<int64_t> calls = Serve(*static_cast<Bell*>(page), call);
  ::munmap(page, kPageBytes);
  return calls;
}

}  // namespace roofmark::worker
