// SPDX-License-Identifier: Apache-2.0
#include "gate/witnesses.h"

#include "base/files.h"
#include "base/testing.h"
#include "meter/cubin.h"

namespace roofmark::gate {
namespace {

using testing::HasSubstr;

class UnexplainedCodeTest : public testing::Test {
 protected:
  UnexplainedCodeTest() {
    std::filesystem::create_directories(scratch_.path() / ".triton/KEY");
    EXPECT_THAT(WriteFile(scratch_.path() / ".triton/KEY/k.cubin", "made by the compiler"), IsOk());
    EXPECT_THAT(WriteFile(scratch_.path() / ".triton/KEY/k.ptx", "another"), IsOk());
  }
  static std::string Of(const std::vector<std::string>& ran, const std::filesystem::path& scratch) {
    return UnexplainedCode(ran, FindCachedCode(ran, scratch));
  }
  TempDir scratch_ = TempDir::Make("witnesses").value();
};

TEST_F(UnexplainedCodeTest, IsNoneWhereTheCacheHoldsAllThatRan) {
  EXPECT_EQ(Of({meter::CubinHash("made by the compiler")}, scratch_.path()), "");
  EXPECT_EQ(Of({}, scratch_.path()), "");
}

TEST_F(UnexplainedCodeTest, IsWhatTheCompilerDidNotWrite) {
  const std::string other = meter::CubinHash("another");
  const std::string found = Of({meter::CubinHash("made by the compiler"), other}, scratch_.path());
  EXPECT_THAT(found, HasSubstr("1 of 2 code objects"));
  EXPECT_THAT(found, HasSubstr(other.substr(0, 12)));
  EXPECT_THAT(Of({other}, scratch_.path() / "missing"), HasSubstr("1 of 1"));
}

TEST(Unwitnessed, IsOwnCodeInALaneOfTritonsThatTritonDidNotMake) {
  Timing timing;
  EXPECT_EQ(Unwitnessed(Lane::kTriton, timing), "") << "nothing is claimed";
  timing.owner_ns[static_cast<size_t>(Owner::kOwn)] = 1000;
  EXPECT_THAT(Unwitnessed(Lane::kTriton, timing), HasSubstr("Judge it in lane torch"));
  EXPECT_THAT(Unwitnessed(Lane::kGluon, timing), HasSubstr("compiler of lane gluon"));
  EXPECT_EQ(Unwitnessed(Lane::kTorch, timing), "");
  EXPECT_EQ(Unwitnessed(Lane::kCuda, timing), "");
  timing.dsl_code = {"aa"};
  EXPECT_EQ(Unwitnessed(Lane::kTriton, timing), "");
}

}  // namespace
}  // namespace roofmark::gate
