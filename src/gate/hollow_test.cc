// SPDX-License-Identifier: Apache-2.0
#include "gate/hollow.h"

#include <filesystem>

#include "base/files.h"
#include "base/testing.h"
#include "device/cuda_stage.h"
#include "device/real_cubin_for_tests.h"
#include "meter/cubin.h"

namespace roofmark::gate {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Hollow, IsNothingOfWhatIsNoCubin) {
  EXPECT_THAT(Hollow("not a cubin"), IsEmpty());
  EXPECT_THAT(Hollow(""), IsEmpty());
}

class HollowTest : public device::RealCubinTest {};

TEST_F(HollowTest, ChangesTheFirstInstructionOfEachKernelAndNothingElse) {
  const std::string hollow = Hollow(cubin_);
  ASSERT_EQ(hollow.size(), cubin_.size());
  EXPECT_EQ(meter::CubinKernels(hollow), meter::CubinKernels(cubin_));
  EXPECT_NE(meter::CubinHash(hollow), meter::CubinHash(cubin_));
  EXPECT_EQ(Hollow(hollow), hollow);
  // ptxas ends each kernel by the very instruction that Hollow writes.
  const std::string exit("\x4d\x79\0\0\0\0\0\0\0\0\x80\x03\0\xea\x0f\0", 16);
  EXPECT_NE(cubin_.find(exit), cubin_.npos);
  size_t changed = 0;
  for (size_t i = 0; i < hollow.size(); ++i) {
    if (hollow[i] == cubin_[i]) continue;
    ++changed;
    // ptxas aligns functions to 128 bytes.
    EXPECT_EQ(hollow.compare(i / 128 * 128, exit.size(), exit), 0) << i;
  }
  EXPECT_LE(changed, meter::CubinKernels(cubin_).size() * exit.size());
  EXPECT_GT(changed, 0U);
}

TEST_F(HollowTest, ReadsWhatIsCutShortWithoutHarm) {
  for (size_t length = 0; length < cubin_.size(); length += 97) {
    EXPECT_THAT(Hollow(std::string_view(cubin_).substr(0, length)), IsEmpty()) << length;
  }
}

TEST_F(HollowTest, ALibraryIsHollowWhereEachOfItsCubinsIs) {
  const std::string head = "host code before it";
  std::string library = head + cubin_ + "and behind it";
  EXPECT_EQ(HollowLibrary({cubin_}, &library), "");
  EXPECT_EQ(library, head + Hollow(cubin_) + "and behind it");
  std::string without = head;
  EXPECT_THAT(HollowLibrary({cubin_}, &without), HasSubstr("none of its cubins"));
  EXPECT_EQ(without, head);
}

TEST_F(HollowTest, ALibraryThatHidesACubinIsNotHollow) {
  const auto nvrtc = device::LoadNvrtc();
  const auto other = device::CompileCubin(
      *nvrtc, "extern \"C\" __global__ void other(int* x) { *x = 1; }", "other.cu", "sm_90");
  ASSERT_THAT(other, IsOk());
  std::string library = cubin_;
  EXPECT_THAT(HollowLibrary({cubin_, *other}, &library), HasSubstr("could not be found"));
}

TEST_F(HollowTest, ACacheIsCopiedWithHollowCubinsAndTheRestAsItIs) {
  const TempDir from = TempDir::Make("cache").value();
  const TempDir to = TempDir::Make("hollow").value();
  std::filesystem::create_directories(from.path() / "KEY");
  ASSERT_THAT(WriteFile(from.path() / "KEY/k.cubin", cubin_), IsOk());
  ASSERT_THAT(WriteFile(from.path() / "KEY/k.json", "{}"), IsOk());
  ASSERT_THAT(WriteFile(from.path() / "KEY/rubbish.cubin", "rubbish"), IsOk());
  std::filesystem::create_symlink("/etc/passwd", from.path() / "KEY/link");
  const auto made = HollowCache(from.path(), to.path() / "cache");
  ASSERT_THAT(made, IsOk());
  EXPECT_EQ(*made, "");
  EXPECT_EQ(*ReadFile(to.path() / "cache/KEY/k.cubin"), Hollow(cubin_));
  EXPECT_EQ(*ReadFile(to.path() / "cache/KEY/k.json"), "{}");
  EXPECT_EQ(*ReadFile(to.path() / "cache/KEY/rubbish.cubin"), "rubbish");
  EXPECT_FALSE(std::filesystem::exists(to.path() / "cache/KEY/link"));
}

TEST(Hollow, ACacheWithoutCodeIsNone) {
  const TempDir from = TempDir::Make("cache").value();
  const TempDir to = TempDir::Make("hollow").value();
  EXPECT_THAT(*HollowCache(from.path() / "missing", to.path()), HasSubstr("holds no cubin"));
  ASSERT_THAT(WriteFile(from.path() / "k.cubin", "rubbish"), IsOk());
  EXPECT_THAT(*HollowCache(from.path(), to.path()), HasSubstr("holds no cubin"));
}

}  // namespace
}  // namespace roofmark::gate
