// SPDX-License-Identifier: Apache-2.0
#include "pipeline/timings.h"

#include <gtest/gtest.h>

namespace roofmark::pipeline {
namespace {

gate::Ledger::Totals Sample() {
  gate::Ledger::Totals totals{.wall_s = 10};
  totals.all[static_cast<size_t>(gate::Part::kTiming)] = 8;
  totals.all[static_cast<size_t>(gate::Part::kArenas)] = 2;
  totals.ahead[static_cast<size_t>(gate::Part::kCompile)] = 5;
  totals.whose["a"] = totals.all;
  return totals;
}

TEST(Timings, TheTableStatesSharesAndTheTimeOfAShape) {
  const std::string table = TimingsTable(Sample(), 5);
  EXPECT_NE(table.find("timing         measuring          8.00 s  80.0 %"), std::string::npos)
      << table;
  EXPECT_NE(table.find("2.00 s a shape over 5; overhead 20.0 %"), std::string::npos) << table;
  EXPECT_NE(table.find("compile        compiling"), std::string::npos) << table;
}

TEST(Timings, NothingJudgedIsNoTimePerShape) {
  const Json json = TimingsToJson(Sample(), 0);
  EXPECT_EQ(json.Find("timings")->Find("s_per_workload"), nullptr);
  EXPECT_DOUBLE_EQ(json.Find("timings")->Find("overhead_share")->as_double(), 0.2);
}

}  // namespace
}  // namespace roofmark::pipeline
