// SPDX-License-Identifier: Apache-2.0
#include "cli/devices.h"

#include "base/testing.h"
#include "cli/judge_modes.h"

namespace roofmark::cli {
namespace {

std::vector<std::string> Names(const Result<std::vector<NamedDevice>>& devices) {
  std::vector<std::string> names;
  for (const NamedDevice& device : devices ? *devices : std::vector<NamedDevice>{}) {
    names.push_back(device.visible);
  }
  return names;
}

TEST(Devices, AllVisibleGpusAreMeantByCuda) {
  EXPECT_EQ(Names(ParseDevices("cuda", "", 2)), (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(Names(ParseDevices("cuda", "GPU-a,GPU-b", 8)),
            (std::vector<std::string>{"GPU-a", "GPU-b"}));
}

TEST(Devices, NumbersCountAmongTheVisibleOnes) {
  EXPECT_EQ(Names(ParseDevices("cuda:1", "5,3", 8)), std::vector<std::string>{"3"});
  EXPECT_EQ(Names(ParseDevices("cuda:1,cuda:0", "", 2)), (std::vector<std::string>{"1", "0"}));
}

TEST(Devices, WhatIsNotThereIsRefused) {
  EXPECT_THAT(ParseDevices("cuda:2", "", 2), HasError(ErrorKind::kUsage, "2 GPUs are visible"));
  EXPECT_THAT(ParseDevices("gpu", "", 2), HasError(ErrorKind::kUsage, "--device gpu"));
  EXPECT_THAT(ParseDevices("cuda:-1", "", 2), HasError(ErrorKind::kUsage, "cuda:0"));
  EXPECT_THAT(ParseDevices("cuda:x", "", 2), HasError(ErrorKind::kUsage, "cuda:0"));
}

TEST(JudgeModes, ListeningJudgesGetEveryOptionThatIsNotAboutTheFolder) {
  EXPECT_EQ(WordsForChildren({"roofmark", "judge", "--all", "a", "b", "--quick", "--device=cuda",
                              "--shape", "s-one", "s-two", "--store", "x.db", "--json"}),
            (std::vector<std::string>{"roofmark", "judge", "--quick", "--store", "x.db"}));
}

}  // namespace
}  // namespace roofmark::cli
