// SPDX-License-Identifier: Apache-2.0
#include "gate/static_check.h"

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::gate {
namespace {

using ::testing::HasSubstr;

Result<StaticFinding> Check(Lane lane, std::string_view source) {
  const TempDir folder = TRY(TempDir::Make("roofmark-static"));
  const TempDir scratch = TRY(TempDir::Make("roofmark-static"));
  TRY(WriteFile(folder.path() / "candidate.py", source));
  const Json contract = Json::MakeObject()
                            .Set("inputs", Json::Array{Json("x")})
                            .Set("outputs", Json::Array{Json("out")})
                            .Set("axes", Json::Array{})
                            .Set("attributes", Json::Array{});
  return CheckText(lane, DeviceKind::kCpu, folder.path(), scratch.path(),
                   Json::MakeObject()
                       .Set("path", "/candidate/candidate.py")
                       .Set("lane", LaneName(lane))
                       .Set("entry", "run")
                       .Set("contract", contract));
}

TEST(StaticCheck, ALaneWithoutItsDeviceIsUnsupportedAndSaysWhatWasChecked) {
  const auto finding = Check(Lane::kFlyDsl,
                             "import flydsl.compiler as flyc\n@flyc.kernel\ndef gate(x): pass\n"
                             "def run(x, out): pass\n");
  ASSERT_THAT(finding, IsOk());
  EXPECT_EQ(finding->outcome, Outcome::kUnsupported);
  EXPECT_THAT(finding->reason, HasSubstr("runs on an AMD GPU"));
  EXPECT_THAT(finding->reason,
              HasSubstr("run(x, out) takes the contract's names, 1 kernel (gate)"));
}

TEST(StaticCheck, AFaultInTheTextIsTheCandidates) {
  const auto finding = Check(Lane::kGluon, "def run(x, out): pass\n");
  ASSERT_THAT(finding, IsOk());
  EXPECT_EQ(finding->outcome, Outcome::kBadInterface) << finding->reason;
  EXPECT_THAT(finding->reason, HasSubstr("no kernel of Gluon"));
}

TEST(StaticCheck, KnowsWhereLanesRun) {
  EXPECT_TRUE(RunsOn(Lane::kGluon, DeviceKind::kCuda));
  EXPECT_FALSE(RunsOn(Lane::kGluon, DeviceKind::kCpu));
  EXPECT_FALSE(RunsOn(Lane::kFlyDsl, DeviceKind::kCuda));
  EXPECT_FALSE(RunsOn(Lane::kCpp, DeviceKind::kCuda));
  EXPECT_TRUE(RunsOn(Lane::kTorch, DeviceKind::kCpu));
  EXPECT_THAT(NotRun(Lane::kCuda, DeviceKind::kCpu, "it compiles"), HasSubstr("--device cuda"));
}

}  // namespace
}  // namespace roofmark::gate
