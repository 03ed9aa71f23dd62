// SPDX-License-Identifier: Apache-2.0
#include "gate/fitness.h"

#include "base/testing.h"

namespace roofmark::gate {
namespace {

TEST(CudaCallsOfARun, AreReadFromTheMetersJson) {
  const auto calls =
      ParseCudaCalls(*Json::Parse(R"({"fault": "", "calls": {"cuLaunchKernel": 2}})"));
  ASSERT_THAT(calls, IsOk());
  EXPECT_EQ(calls->at("cuLaunchKernel"), 2);
  EXPECT_THAT(ParseCudaCalls(*Json::Parse(R"({"fault": "no CUPTI", "calls": {}})")),
              HasError(ErrorKind::kInput, "no CUPTI"));
  EXPECT_FALSE(ParseCudaCalls(*Json::Parse(R"({"fault": "", "calls": {"cuInit": "often"}})")));
  EXPECT_FALSE(ParseCudaCalls(*Json::Parse("[]")));
}

TEST(WaitingCalls, AreTheSynchronisingOnesAndCopiesThatAreNotAsynchronous) {
  const CudaCalls calls = {{"cudaStreamSynchronize_v3020", 1},
                           {"cuStreamSynchronize_ptsz", 1},
                           {"cudaMemcpy_v3020", 2},
                           {"cudaMemcpyAsync_v3020", 2},
                           {"cuMemcpyDtoH_v2", 1},
                           {"cuMemcpyDtoDAsync_v2", 1},
                           {"cudaLaunchKernel_v7000", 9},
                           {"cuStreamWaitEvent", 1},
                           {"cudaGetLastError_v3020", 4}};
  EXPECT_EQ(WaitingCalls(calls), (CudaCalls{{"cudaStreamSynchronize", 1},
                                            {"cuStreamSynchronize", 1},
                                            {"cudaMemcpy", 2},
                                            {"cuMemcpyDtoH", 1}}));
}

TEST(AllocatingCalls, GetOrGiveBackMemory) {
  const CudaCalls calls = {{"cuMemAlloc_v2", 1},          {"cudaFree_v3020", 1},
                           {"cudaMallocAsync_v11020", 3}, {"cuMemsetD8Async", 1},
                           {"cuMemGetInfo_v2", 1},        {"cuMemAllocFromPoolAsync_ptsz", 2}};
  EXPECT_EQ(AllocatingCalls(calls), (CudaCalls{{"cuMemAlloc", 1},
                                               {"cudaFree", 1},
                                               {"cudaMallocAsync", 3},
                                               {"cuMemAllocFromPoolAsync", 2}}));
}

}  // namespace
}  // namespace roofmark::gate
