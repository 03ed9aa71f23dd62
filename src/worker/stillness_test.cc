// SPDX-License-Identifier: Apache-2.0
#include "worker/stillness.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace roofmark::worker {
namespace {

struct Counters {
  std::atomic<uint64_t> main;
  std::atomic<uint64_t> other;
};

// A process whose main thread counts, and another thread of it too.
class StillnessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    void* const shared = ::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    counters_ = static_cast<Counters*>(shared);  // all zeros
    pid_ = ::fork();
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) {
      std::thread([this] {
        while (true) ++counters_->other;
      }).detach();
      while (true) ++counters_->main;
    }
    AwaitProgress();
  }
  void TearDown() override {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  void AwaitProgress() const {
    const uint64_t main = counters_->main;
    const uint64_t other = counters_->other;
    while (counters_->main == main || counters_->other == other) std::this_thread::yield();
  }

  Counters* counters_ = nullptr;
  pid_t pid_ = -1;
};

TEST_F(StillnessTest, NothingRunsWhileHeldAndEverythingGoesOnAfterwards) {
  Stillness still(pid_);
  still.Hold();
  const uint64_t main = counters_->main;
  for (int i = 0; i < 1000; ++i) std::this_thread::yield();
  EXPECT_EQ(counters_->main, main);
  still.Release();
  AwaitProgress();
}

TEST_F(StillnessTest, IsReleasedWhenItGoesAway) {
  {
    Stillness(pid_).Hold();
  }
  AwaitProgress();
}

TEST_F(StillnessTest, SeesThatAnotherThreadWorksOn) {
  const Stillness still(pid_);
  EXPECT_EQ(still.Others(), 1);
  const int64_t before = still.OthersNs();
  while (still.OthersNs() == before) std::this_thread::yield();
  EXPECT_GT(still.OthersNs(), before);
}

// As threads of an OpenMP runtime do after their work: longer than a look, shorter than a tick of
// the kernel, which counts a running thread's time no sooner.
void SpinFor(int64_t spun_ns) {
  timespec used{};
  do {
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  } while (used.tv_sec * 1'000'000'000 + used.tv_nsec < spun_ns);
}

TEST(StillnessOfASpinner, AThreadThatSpinsForAWhileIsWaitedForUntilItSleeps) {
  for (int i = 0; i < 5; ++i) {
    void* const shared = ::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    auto* const counters = static_cast<Counters*>(shared);  // main: it has begun; other: it is done
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      std::thread([counters] {
        counters->main = 1;
        SpinFor(3'000'000);
        counters->other = 1;
        while (true) ::pause();
      }).detach();
      while (true) ::pause();
    }
    while (counters->main == 0) std::this_thread::yield();
    const bool settled = Stillness(pid).Settle();
    const bool done = counters->other != 0;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ::munmap(shared, sizeof(Counters));
    EXPECT_TRUE(settled);
    EXPECT_TRUE(done) << "it was taken for asleep while it spun";
  }
}

TEST_F(StillnessTest, AProcessThatIsGoneHoldsNobodyUp) {
  Stillness still(pid_);
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  still.Hold();
  still.Release();
  EXPECT_EQ(still.Others(), 0);
  EXPECT_TRUE(still.Settle());
}

}  // namespace
}  // namespace roofmark::worker
