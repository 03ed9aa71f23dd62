// SPDX-License-Identifier: Apache-2.0
#include "worker/cpu_sampler.h"

#include <unistd.h>

#include "base/testing.h"

namespace roofmark::worker {
namespace {

constexpr const char* kOwn = "/candidate/candidate.so";
constexpr const char* kHarness = "/roofmark/roofmark";

Owner OwnerAt(const std::string& path, const std::string& own = kOwn) {
  return OwnerOfObject(path, OwnFile::kNo, own, kHarness).owner;
}

TEST(CpuOwner, IsTheCandidatesForTheFileThatTheJudgeBuiltWhereverItLies) {
  for (const char* path : {kOwn, "/tmp/roofmark-candidate1/run/candidate.so"}) {
    EXPECT_EQ(OwnerOfObject(path, OwnFile::kYes, kOwn, kHarness).owner, Owner::kOwn) << path;
  }
}

TEST(CpuOwner, IsNeverTheCandidatesForAnotherFileOfTheSameName) {
  EXPECT_EQ(OwnerAt(kOwn), Owner::kUnknown);
  EXPECT_EQ(OwnerAt("/tmp/run/candidate.so"), Owner::kPrebuilt);
}

TEST(CpuOwner, IsPrebuiltForFilesThatTheCandidateCanWriteWhateverTheirNames) {
  for (const char* path :
       {"/scratch/unpacked.so", "/scratch/candidate/candidate.so", "/scratch/run/candidate.so",
        "/scratch/libc.so.6", "/scratch/roofmark", "/tmp/roofmark", "/memfd:x (deleted)",
        "/dev/shm/x", "/tmp/roofmark-candidate1/scratch/unpacked.so",
        "/tmp/roofmark-candidate1/run/candidate.so"}) {
    EXPECT_EQ(OwnerAt(path), Owner::kPrebuilt) << path;
    EXPECT_EQ(OwnerOfObject(path, OwnFile::kNo, kOwn, kHarness).harness, Harness::kNo) << path;
  }
}

TEST(CpuOwner, IsPrebuiltForCodeOfNoFileInALaneThatTheJudgeCompiles) {
  EXPECT_EQ(OwnerAt(kAnonymousCode), Owner::kPrebuilt);
  EXPECT_EQ(OwnerAt(kAnonymousCode, "/candidate/model.py"), Owner::kUnknown);
}

TEST(CpuOwner, TellsLibrariesByTheirNames) {
  EXPECT_EQ(OwnerAt("/usr/lib/x86_64-linux-gnu/libopenblas.so.0"), Owner::kVendor);
  EXPECT_EQ(OwnerAt("/usr/lib/python3/dist-packages/torch/lib/libtorch_cpu.so"), Owner::kFramework);
  EXPECT_EQ(OwnerAt("/usr/lib/x86_64-linux-gnu/libc.so.6"), Owner::kRuntime);
  EXPECT_EQ(OwnerAt("/usr/lib/libother.so"), Owner::kUnknown);
  EXPECT_EQ(OwnerOfObject(kHarness, OwnFile::kNo, kOwn, kHarness).harness, Harness::kYes);
}

TEST(CpuSampler, TooFewSamplesAreNoShares) {
  CpuSampler sampler = CpuSampler::Start(::getpid());
  const CpuProfile profile = sampler.Stop(kOwn);
  EXPECT_EQ(profile.owner_ns, Shares{});
  EXPECT_FALSE(profile.level.empty());
}

}  // namespace
}  // namespace roofmark::worker
