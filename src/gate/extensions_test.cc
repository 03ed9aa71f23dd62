// SPDX-License-Identifier: Apache-2.0
#include "gate/extensions.h"

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::gate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ExtensionsTest : public testing::Test {
 protected:
  void Write(const std::string& name, std::string_view text) {
    std::filesystem::create_directories((scratch_.path() / name).parent_path());
    ASSERT_THAT(WriteFile(scratch_.path() / name, text), IsOk());
  }
  std::vector<BuiltExtension> Find(const std::map<std::string, std::string>& sources = {}) {
    return FindExtensions(scratch_.path(), sources, {"gate", "other"});
  }
  TempDir scratch_ = TempDir::Make("extensions").value();
};

TEST_F(ExtensionsTest, AreLibrariesBesideTheirSourceAndItsObject) {
  Write(".torch_extensions/py312/gate/cuda.cu",
        "__global__ void gate() {}\n"
        "__global__ void unseen() {}");
  Write(".torch_extensions/py312/gate/cuda.cuda.o", "object");
  Write(".torch_extensions/py312/gate/gate.so", "library");
  const auto found = Find();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].library, ".torch_extensions/py312/gate/gate.so");
  EXPECT_THAT(found[0].kernels, ElementsAre("gate"));
}

TEST_F(ExtensionsTest, MayBeMadeOfAFileOfTheCandidates) {
  Write("build/kernels.cuda.o", "object");
  Write("build/kernels.so", "library");
  EXPECT_THAT(Find(), IsEmpty());
  EXPECT_EQ(Find({{"kernels.cu", "__global__ void other() {}"}}).size(), 1U);
}

TEST_F(ExtensionsTest, AreNoLibrariesThatWereUnpacked) {
  Write("extension.so", "library");
  EXPECT_THAT(Find(), IsEmpty());
  Write("cuda.cu", "__global__ void gate() {}");
  EXPECT_THAT(Find(), IsEmpty()) << "nothing was compiled";
  Write("cuda.cuda.o", "object");
  Write("cuda.cu", "// __global__ void gate() {}");
  EXPECT_THAT(Find(), IsEmpty()) << "its source defines nothing";
}

}  // namespace
}  // namespace roofmark::gate
