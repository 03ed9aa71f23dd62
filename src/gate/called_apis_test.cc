// SPDX-License-Identifier: Apache-2.0
#include "gate/called_apis.h"

#include "base/testing.h"

namespace roofmark::gate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Apis(const char* json) {
  const auto parsed = Json::Parse(json);
  EXPECT_THAT(parsed, IsOk());
  return CalledApis(*parsed);
}

TEST(CalledApis, AreWhatTheCandidateCalledAndNotWhatThatCalledInTurn) {
  EXPECT_THAT(Apis(R"({"stacks": [["libcublasLt.so.13:", "libcublasLt.so.13:cublasLtMatmul",
                      "libcublas.so.13:", "libcublas.so.13:cublasGemmEx", "candidate.so:run",
                      "roofmark:"], ["candidate.so:run", "roofmark:"]]})"),
              ElementsAre("cublasGemmEx (libcublas.so.13)"));
}

TEST(CalledApis, AreNamedOnceAndReadably) {
  EXPECT_THAT(Apis(R"({"stacks": [["libcudnn_graph.so.9:cudnnBackendExecute"],
                      ["libcudnn_graph.so.9:cudnnBackendExecute", "libfoo.so:x"],
                      ["libtorch_cpu.so:_ZN2at4_ops2mm4callERKNS_6TensorES4_"]]})"),
              ElementsAre("cudnnBackendExecute (libcudnn_graph.so.9)",
                          "at::_ops::mm::call (libtorch_cpu.so)"));
}

TEST(CalledApis, AreNoneWhereNothingNamesOne) {
  EXPECT_THAT(
      Apis(R"({"stacks": [["libcublas.so.13:", "candidate.so:run"], ["nocolon"], [7], 3]})"),
      IsEmpty());
  EXPECT_THAT(Apis(R"({"calls": {}})"), IsEmpty());
  EXPECT_THAT(Apis(R"({"stacks": "rubbish"})"), IsEmpty());
}

}  // namespace
}  // namespace roofmark::gate
