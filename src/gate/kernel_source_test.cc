// SPDX-License-Identifier: Apache-2.0
#include "gate/kernel_source.h"

#include "base/files.h"
#include "base/testing.h"
#include "meter/cubin.h"

namespace roofmark::gate {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// As Triton 3.6 writes it, shortened.
std::string Module(const std::string& file) {
  return "#loc = loc(\"" + file +
         "\":3:0)\n#loc7 = loc(unknown)\n#loc13 = loc(\"x\"(#loc))\nmodule {\n"
         "  tt.func public @gate(%x: !tt.ptr<f32> loc(\"x\"(#loc))) attributes {noinline = false} "
         "{\n"
         "    %s = \"tt.reduce\"(%v) ({\n    }) : (f32) -> f32 loc(#loc21)\n"
         "    tt.return loc(#loc1)\n  } loc(#loc)\n} loc(#loc)\n"
         "#loc1 = loc(\"/usr/lib/triton/standard.py\":3:21)\n";
}

TEST(FileOfKernel, IsThatOfThePublicFunctionsLocation) {
  EXPECT_EQ(FileOfKernel(Module("/candidate/a.py")), "/candidate/a.py");
  EXPECT_EQ(FileOfKernel("module {\n  tt.func public @k() {\n  } loc(\"gate\"(#loc2))\n}\n"
                         "#loc2 = loc(\"/a (1).py\":2:0)\n"),
            "/a (1).py");
}

TEST(FileOfKernel, IsUnknownWhereNothingSaysIt) {
  for (const char* module :
       {"", "module {}", "module {\n  tt.func public @k() {\n  }\n}",
        "module {\n  tt.func public @k() {\n  } loc(unknown)\n}",
        "module {\n  tt.func public @k() {\n  } loc(#loc)\n}",
        "#loc = loc(#loc)\nmodule {\n  tt.func public @k() {\n  } loc(#loc)\n}",
        "module {\n  tt.func public @k() {\n  } loc(\"a", "tt.func public @k\n  } loc("}) {
    EXPECT_THAT(FileOfKernel(module), IsEmpty()) << module;
  }
}

class ForeignSourceTest : public testing::Test {
 protected:
  ForeignSourceTest() {
    std::filesystem::create_directories(scratch_.path() / ".triton/KEY");
    std::filesystem::create_directories(scratch_.path() / ".inductor");
  }
  void Write(const std::string& name, std::string_view text) {
    ASSERT_THAT(WriteFile(scratch_.path() / name, text), IsOk());
  }
  // What is said of a kernel whose module names one file, and its table of lines another.
  std::string Of(const std::string& file, const std::string& line = "") {
    const std::string cubin = std::string("\0/folder\0", 9) + line + std::string(1, '\0');
    Write(".triton/KEY/gate.cubin", cubin);
    Write(".triton/KEY/gate.ttir", Module(file));
    return OfHash(meter::CubinHash(cubin));
  }
  std::string OfHash(const std::string& hash) {
    return ForeignSource(FindCachedCode({hash}, scratch_.path()), scratch_.path(), own_);
  }
  TempDir scratch_ = TempDir::Make("kernel-source").value();
  OwnSource own_{.folders = {"/candidate/"},
                 .text =
                     "@triton.jit\ndef gate(x,\n         n):\n    y = 1\n\n    return y\n"
                     "def run(): pass\n"};
};

TEST_F(ForeignSourceTest, IsNoFileOfTheCandidates) {
  EXPECT_EQ(Of("/candidate/a.py"), "");
  EXPECT_EQ(Of("/candidate/folder/a.py", "a.py"), "");
  EXPECT_EQ(OfHash("another"), "");
}

TEST_F(ForeignSourceTest, IsAFileThatAnotherCompilerWroteWhereverItIs) {
  for (const char* file : {"/tmp/elsewhere/ab/cab.py", "/scratch/.inductor/cab.py", "a.py",
                           "/candidate/../tmp/a.py", "/usr/lib/python3/x/kernels.py"}) {
    EXPECT_THAT(Of(file), HasSubstr("kernel gate was made of")) << file;
  }
}

TEST_F(ForeignSourceTest, IsWhatTheTableOfLinesNamesElse) {
  EXPECT_THAT(Of("/candidate/a.py", "cab.py"), HasSubstr("which its table of lines does not"));
}

TEST_F(ForeignSourceTest, IsWhatSaysNothingOfItsSource) {
  Of("/candidate/a.py");
  Write(".triton/KEY/gate.ttir", "module {}");
  const std::string cubin = ReadFile(scratch_.path() / ".triton/KEY/gate.cubin").value();
  EXPECT_THAT(OfHash(meter::CubinHash(cubin)), HasSubstr("does not say which source"));
}

TEST_F(ForeignSourceTest, IsNotAKernelOfTheCandidatesThatInductorCopied) {
  Write(".inductor/cab.py",
        "import triton\n@triton.jit\ndef gate(x,\n    n):\n  y = 1\n  return y\n''', device)\n");
  EXPECT_EQ(Of("/scratch/.inductor/cab.py", "cab.py"), "");
  Write(".inductor/cab.py", "@triton.jit\ndef gate(x,\n    n):\n  y = 2\n  return y\n");
  EXPECT_THAT(Of("/scratch/.inductor/cab.py", "cab.py"), HasSubstr("was made of"));
  EXPECT_FALSE(SameFunction("gate", "def gate(x,\n", "def gate(x,\n"));
}

}  // namespace
}  // namespace roofmark::gate
