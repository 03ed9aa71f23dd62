// SPDX-License-Identifier: Apache-2.0
#include "pipeline/job.h"

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::pipeline {
namespace {

TEST(Job, ASourceNeedsItsLane) {
  EXPECT_THAT(ParseJob(R"({"id": "1", "operator": "rms_norm", "source": "x"})"),
              HasError(ErrorKind::kInput, "lane"));
}

TEST(Job, APathAndASourceAtOnceAreRefused) {
  EXPECT_THAT(
      ParseJob(R"({"id": "1", "operator": "o", "path": "a.cc", "source": "x", "lane": "cpp"})"),
      HasError(ErrorKind::kInput, "either"));
  EXPECT_THAT(ParseJob(R"({"id": "1", "operator": "o"})"), HasError(ErrorKind::kInput, "either"));
}

TEST(Job, AKeyThatNobodyKnowsIsNamed) {
  EXPECT_THAT(ParseJob(R"({"id": "1", "operator": "o", "path": "a", "shape": "s"})"),
              HasError(ErrorKind::kInput, "\"shape\""));
}

TEST(Job, ANameCannotLeaveItsFolder) {
  EXPECT_THAT(
      ParseJob(R"({"id": "1", "operator": "o", "source": "x", "lane": "cpp", "name": "../x"})"),
      HasError(ErrorKind::kInput, "name"));
}

TEST(Job, TheIdOfABrokenJobIsStillFound) {
  EXPECT_EQ(IdOf(R"({"id": "7", "operator": 3})").as_string(), "7");
  EXPECT_TRUE(IdOf("{nonsense").is_null());
}

TEST(Job, ASourceBecomesACandidateOfItsLane) {
  const Result<TempDir> folder = TempDir::Make("roofmark-job");
  ASSERT_THAT(folder, IsOk());
  const Result<Job> job = ParseJob(
      R"({"id": "1", "operator": "o", "source": "import torch\n", "lane": "torch", "name": "n"})");
  ASSERT_THAT(job, IsOk());
  const Result<Candidate> candidate = CandidateOf(*job, folder->path());
  ASSERT_THAT(candidate, IsOk());
  EXPECT_EQ(candidate->name, "n");
  EXPECT_EQ(candidate->lane, Lane::kTorch);
}

}  // namespace
}  // namespace roofmark::pipeline
