// SPDX-License-Identifier: Apache-2.0
#include "worker/stillness.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
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
