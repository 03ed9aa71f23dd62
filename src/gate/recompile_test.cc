// SPDX-License-Identifier: Apache-2.0
// That honest kernels come out the same again needs Triton: the red team's honest programs in
// Triton and Gluon show it where one is.
#include "gate/recompile.h"

#include "base/files.h"
#include "base/testing.h"
#include "meter/cubin.h"

namespace roofmark::gate {
namespace {

using testing::HasSubstr;

class RecompileTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) {
    ASSERT_THAT(WriteFile(cache_.path() / name, text), IsOk());
  }
  std::string Refuted() {
    const auto text = RecompileTriton({{meter::CubinHash("a cubin"), cache_.path() / "k.cubin"}});
    EXPECT_THAT(text, IsOk());
    return text ? *text : "";
  }
  TempDir cache_ = TempDir::Make("recompile").value();
};

TEST_F(RecompileTest, RefutesACubinWithoutIntermediateCode) {
  Write("k.cubin", "a cubin");
  EXPECT_THAT(Refuted(), HasSubstr("kernel k is not what Triton's compiler makes"));
  Write("k.ttir", "module {}");
  EXPECT_THAT(Refuted(), HasSubstr("none is there"));
}

TEST_F(RecompileTest, RefutesACubinThatItsIntermediateCodeDoesNotGive) {
  Write("k.cubin", "a cubin");
  Write("k.ttir", "this is no intermediate code");
  Write("k.json", R"({"target": {"backend": "cuda", "arch": 90, "warp_size": 32}})");
  EXPECT_THAT(Refuted(), HasSubstr("kernel k is not what Triton's compiler makes"));
}

TEST_F(RecompileTest, HasNothingToSayOfNoCubins) {
  EXPECT_EQ(*RecompileTriton({}), "");
}

}  // namespace
}  // namespace roofmark::gate
