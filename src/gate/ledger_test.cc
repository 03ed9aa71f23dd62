// SPDX-License-Identifier: Apache-2.0
#include "gate/ledger.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace roofmark::gate {
namespace {

double Of(const PartSeconds& parts, Part part) {
  return parts[static_cast<size_t>(part)];
}

// Long enough for any clock to move on.
void Work() {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < std::chrono::microseconds(200)) {
  }
}

TEST(Ledger, PartsAddUpToTheTimeThatPassed) {
  Ledger& ledger = Ledger::Instance();
  ledger.Open();
  {
    const Stretch outer(Part::kTiming, "a");
    Work();
    const Stretch inner(Part::kFlush);
    Work();
  }
  const Ledger::Totals totals = ledger.Read();
  EXPECT_NEAR(std::accumulate(totals.all.begin(), totals.all.end(), 0.0), totals.wall_s, 1e-9);
  EXPECT_GT(Of(totals.all, Part::kTiming), 0);
  EXPECT_GT(Of(totals.all, Part::kFlush), 0);
}

TEST(Ledger, AnInnerStretchBelongsToTheCandidateAroundIt) {
  Ledger& ledger = Ledger::Instance();
  ledger.Open();
  {
    const Stretch outer(Part::kCalls, "a");
    const Stretch inner(Part::kCompare);
    Work();
  }
  const Ledger::Totals totals = ledger.Read();
  EXPECT_GT(Of(totals.whose.at("a"), Part::kCompare), 0);
  EXPECT_EQ(Of(totals.whose.at(""), Part::kCompare), 0);
}

TEST(Ledger, WhatOtherThreadsDoAheadIsNoWaiting) {
  Ledger& ledger = Ledger::Instance();
  ledger.Open();
  std::thread([] {
    const Stretch stretch(Part::kCompile, "b");
    Work();
  }).join();
  const Ledger::Totals totals = ledger.Read();
  EXPECT_EQ(Of(totals.all, Part::kCompile), 0);
  EXPECT_GT(Of(totals.ahead, Part::kCompile), 0);
}

TEST(Ledger, OverheadIsAShareOfOurOwnTimeOnly) {
  Ledger::Totals totals;
  totals.all[static_cast<size_t>(Part::kTiming)] = 6;
  totals.all[static_cast<size_t>(Part::kArenas)] = 2;
  totals.all[static_cast<size_t>(Part::kWaiting)] = 100;
  EXPECT_DOUBLE_EQ(totals.OverheadShare(), 0.25);
  EXPECT_EQ(Ledger::Totals{}.OverheadShare(), 0);
}

}  // namespace
}  // namespace roofmark::gate
