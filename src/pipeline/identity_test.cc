// SPDX-License-Identifier: Apache-2.0
#include "pipeline/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace roofmark::pipeline {
namespace {

using testing::HasSubstr;

store::RunInfo RunOn(int64_t id, const std::string& machine) {
  store::RunInfo run{.id = id};
  if (!machine.empty()) run.details.Set("machine", Json::MakeObject().Set("id", machine));
  return run;
}

TEST(Identity, OfOneMachineIsTheSameTwiceAndAnotherDriverIsAnother) {
  const auto gpu = [](const std::string& driver) {
    return Json::MakeObject().Set("gpu",
                                  Json::MakeObject().Set("uuid", "GPU-1").Set("driver", driver));
  };
  const std::string id = MachineId(gpu("580"), DeviceKind::kCuda);
  EXPECT_EQ(id.size(), 8U);
  EXPECT_EQ(id, MachineId(gpu("580"), DeviceKind::kCuda));
  EXPECT_NE(id, MachineId(gpu("581"), DeviceKind::kCuda));
}

TEST(Identity, OfThisCpuHasAKernelAndNoGpu) {
  const Json machine = DescribeMachine({.kind = DeviceKind::kCpu});
  ASSERT_NE(machine.Find("cpu"), nullptr);
  EXPECT_TRUE(machine.Find("cpu")->Find("kernel")->is_string());
  EXPECT_TRUE(machine.Find("gpu")->is_null());
  EXPECT_EQ(machine.Find("id")->as_string().size(), 8U);
}

TEST(Identity, VerdictsOfOneMachineNeedNoWarning) {
  EXPECT_EQ(MixedMachines({RunOn(1, "aa"), RunOn(2, "aa"), RunOn(3, "bb")}, {1, 2}), "");
}

TEST(Identity, VerdictsOfSeveralMachinesAreNamedWithTheirRuns) {
  const std::string text =
      MixedMachines({RunOn(1, "aa"), RunOn(2, "aa"), RunOn(3, "bb"), RunOn(4, "")}, {1, 2, 3, 4});
  EXPECT_THAT(text, HasSubstr("3 machines"));
  EXPECT_THAT(text, HasSubstr("aa (runs 1, 2), bb (run 3), unknown (run 4)"));
}

}  // namespace
}  // namespace roofmark::pipeline
