// SPDX-License-Identifier: Apache-2.0
#include "worker/sanitizer.h"

#include <stdlib.h>

#include "base/files.h"
#include "base/testing.h"
#include "worker/file_tree.h"
#include "worker/sandbox.h"

namespace roofmark::worker {
namespace {

TEST(SanitizerReport, CountsErrorsAndKeepsTheFirstWithItsPlace) {
  const auto report = ReadSanitizerReport(
      "========= COMPUTE-SANITIZER\n"
      "the program's own words\n"
      "========= Invalid __global__ write of size 4 bytes\n"
      "=========     at scale(float *, int)+0x160 in scale.cu:10\n"
      "=========     by thread (31,0,0) in block (3,0,0)\n"
      "========= \n"
      "========= Invalid __global__ read of size 4 bytes\n"
      "=========     at other(float *)+0x20 in scale.cu:20\n"
      "========= ERROR SUMMARY: 34 errors\n");
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->errors, 34);
  EXPECT_EQ(report->first,
            "Invalid __global__ write of size 4 bytes at scale(float *, int)+0x160 in scale.cu:10");
}

TEST(SanitizerReport, AHazardIsAnErrorAndAWarningIsNone) {
  const auto race = ReadSanitizerReport(
      "========= COMPUTE-SANITIZER\n"
      "========= Error: Race reported between Write access at sum(int *)+0x130 in sum.cu:20\n"
      "=========     and Read access at sum(int *)+0x150 in sum.cu:22 [508 hazards]\n"
      "========= \n"
      "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n");
  ASSERT_THAT(race, IsOk());
  EXPECT_EQ(race->errors, 1);
  EXPECT_THAT(race->first, testing::HasSubstr("Race reported between Write access"));
  const auto warning = ReadSanitizerReport(
      "========= COMPUTE-SANITIZER\n"
      "========= Warning: Race reported between Write access at a and Write access at b\n"
      "========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)\n");
  ASSERT_THAT(warning, IsOk());
  EXPECT_EQ(warning->errors, 0);
  EXPECT_EQ(warning->first, "");
}

TEST(SanitizerReport, CleanRunsSaySo) {
  const auto report =
      ReadSanitizerReport("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n");
  ASSERT_THAT(report, IsOk());
  EXPECT_EQ(report->errors, 0);
}

TEST(SanitizerReport, WithoutASummaryNothingIsKnown) {
  EXPECT_THAT(ReadSanitizerReport("========= COMPUTE-SANITIZER\n========= Error: no device\n"),
              HasError(ErrorKind::kInput, "printed no summary"));
  EXPECT_THAT(ReadSanitizerReport(""), HasError(ErrorKind::kInput, "printed no summary"));
}

TEST(Sanitizer, IsWhereItsVariableSays) {
  ::setenv("ROOFMARK_SANITIZER", "/bin/sh", 1);
  EXPECT_THAT(FindSanitizer(), IsOk());
  ::unsetenv("ROOFMARK_SANITIZER");
}

// What a connection to a port that nobody listens at ends with.
std::string Connecting(bool loopback) {
  const TempDir folder = *TempDir::Make("roofmark-test");
  const TempDir scratch = *TempDir::Make("roofmark-test");
  auto tree = PlanTree({.folder = folder.path(), .scratch = scratch.path()});
  EXPECT_THAT(tree, IsOk());
  auto sandbox = Sandbox::Start({.tree = *tree,
                                 .argv = {"bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9"},
                                 .environment = BaseEnvironment(),
                                 .file_bytes = 1 << 20,
                                 .processes = 64,
                                 .loopback = loopback});
  EXPECT_THAT(sandbox, IsOk());
  (*sandbox)->WaitForExit(After(60));
  return (*sandbox)->Log();
}

TEST(Sandbox, HasALoopbackInterfaceWhereAToolNeedsOneAndNoneOtherwise) {
  if (BestIsolation() == Isolation::kNone) GTEST_SKIP() << "no network namespace here";
  EXPECT_THAT(Connecting(true), testing::HasSubstr("refused"));
  // Unreachable, or not permitted where Landlock governs connections too.
  EXPECT_THAT(Connecting(false), testing::Not(testing::HasSubstr("refused")));
}

}  // namespace
}  // namespace roofmark::worker
