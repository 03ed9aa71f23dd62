// SPDX-License-Identifier: Apache-2.0
#include "worker/bell_page.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <immintrin.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <new>
#include <utility>

namespace roofmark::worker {
namespace {

constexpr size_t kPageBytes = 4096;
static_assert(sizeof(Bell) <= kPageBytes);

// Answers are looked for in a tight loop; whether the worker lives is asked once in so many looks.
constexpr int kLooksBetweenChecks = 1 << 14;
constexpr double kReplyTimeoutS = 5;
// A worker that is late may have left its loop, and its reply says why.
constexpr double kLateReplyS = 0.1;

// Receive knows why a worker is gone, and kills one that is merely late.
Result<Answer<RingTime>> LeftLoop(Worker& worker, double timeout_s) {
  const Answer<Json> reply = TRY(worker.Receive(timeout_s));
  if (!reply) return Answer<RingTime>(std::unexpected(reply.error()));
  return Answer<RingTime>(
      std::unexpected(Mishap{.outcome = Outcome::kRuntimeError,
                             .reason = "the worker left its loop before it was told to"}));
}

}  // namespace

Result<BellPage> BellPage::Make() {
  const auto refused = [] {
    return Fail(ErrorKind::kDevice,
                fmt::format("cannot make a shared page: {}", std::strerror(errno)));
  };
  Fd fd(::memfd_create("roofmark-bell", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() || ::ftruncate(fd.get(), kPageBytes) != 0 ||
      ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return refused();
  }
  void* const at = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) return refused();
  return BellPage(std::move(fd), ::new (at) Bell{});
}

BellPage::BellPage(BellPage&& other) noexcept
    : fd_(std::move(other.fd_)), bell_(std::exchange(other.bell_, nullptr)) {}

BellPage::~BellPage() {
  if (bell_ != nullptr) ::munmap(bell_, kPageBytes);
}

Result<Answer<RingTime>> Ring(Worker& worker, Bell& bell, uint64_t number, double timeout_s) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(timeout_s));
  for (std::atomic<uint64_t>& address : bell.returned) address.store(0, std::memory_order_relaxed);
  const Clock::time_point start = Clock::now();
  bell.ring.store(number, std::memory_order_release);
  for (int looks = 1; bell.done.load(std::memory_order_acquire) != number; ++looks) {
    _mm_pause();
    if (looks % kLooksBetweenChecks != 0) continue;
    const bool late = Clock::now() > deadline;
    if (!late && worker.alive()) continue;
    Answer<RingTime> left = TRY(LeftLoop(worker, kLateReplyS));
    if (!left && left.error().outcome == Outcome::kTimedOut) {
      left.error().reason = fmt::format("a timed call was not done after {:g} s", timeout_s);
    }
    return left;
  }
  const Clock::time_point end = Clock::now();
  // A worker whose call failed has left its loop, and its reply says why.
  if (bell.status.load(std::memory_order_relaxed) != 0) return LeftLoop(worker, kReplyTimeoutS);
  return RingTime{.host_ns = std::chrono::duration<double, std::nano>(end - start).count(),
                  .worker_ns = static_cast<double>(bell.worker_ns.load(std::memory_order_relaxed))};
}

}  // namespace roofmark::worker
