// SPDX-License-Identifier: Apache-2.0
#include "gate/witnesses.h"

#include "base/files.h"
#include "base/testing.h"
#include "meter/cubin.h"

namespace roofmark::gate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(FindCode, FindsCubinsBelowTheScratchFolderByTheirHashes) {
  const TempDir scratch = TempDir::Make("witnesses").value();
  const std::filesystem::path key = scratch.path() / ".triton/KEY";
  std::filesystem::create_directories(key);
  ASSERT_THAT(WriteFile(key / "k.cubin", "made by the compiler"), IsOk());
  ASSERT_THAT(WriteFile(key / "k.ptx", "another"), IsOk());
  const std::string made = meter::CubinHash("made by the compiler");
  EXPECT_THAT(FindCode({made, meter::CubinHash("another")}, scratch.path()),
              ElementsAre(Pair(made, key / "k.cubin")));
  EXPECT_THAT(FindCode({}, scratch.path()), IsEmpty());
  EXPECT_THAT(FindCode({made}, scratch.path() / "missing"), IsEmpty());
}

}  // namespace
}  // namespace roofmark::gate
