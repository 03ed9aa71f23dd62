// SPDX-License-Identifier: Apache-2.0
#include "gate/cpu_disturbance.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace roofmark::gate {
namespace {

cpu_set_t CoresNow() {
  cpu_set_t cores;
  EXPECT_EQ(::sched_getaffinity(0, sizeof cores, &cores), 0);
  return cores;
}

TEST(CpuDisturbance, LeavesTheWorkerAtLeastHalfOfItsCoresAndGivesAllBack) {
  const cpu_set_t before = CoresNow();
  for (uint64_t seed = 0; seed < 4; ++seed) {
    {
      const auto disturbance = DisturbCpu(::getpid(), seed);
      const cpu_set_t during = CoresNow();
      EXPECT_GE(2 * CPU_COUNT(&during), CPU_COUNT(&before));
    }
    const cpu_set_t after = CoresNow();
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
  }
}

TEST(CpuDisturbance, ThreadsBornMeanwhileGetAllCoresToo) {
  const cpu_set_t before = CoresNow();
  std::atomic<bool> undisturbed = false;
  cpu_set_t after;
  std::thread born;
  {
    const auto disturbance = DisturbCpu(::getpid(), 1);
    born = std::thread([&] {
      undisturbed.wait(false);
      after = CoresNow();
    });
  }
  undisturbed = true;
  undisturbed.notify_all();
  born.join();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(CpuDisturbance, AWorkerThatIsGoneIsNoReasonToFail) {
  EXPECT_NE(DisturbCpu(0x7ffffffe, 0), nullptr);
}

}  // namespace
}  // namespace roofmark::gate
