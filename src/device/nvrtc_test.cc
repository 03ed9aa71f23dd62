// SPDX-License-Identifier: Apache-2.0
#include "device/nvrtc.h"

#include "base/testing.h"
#include "device/calibrate_cuda_source.h"
#include "device/cuda_judge.h"
#include "device/cuda_libraries.h"
#include "device/cuda_stage.h"

namespace roofmark::device {
namespace {

// NVRTC needs no GPU, so our device code is compiled wherever NVRTC is installed.
class Nvrtc : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loaded = LoadNvrtc();
    if (!loaded) GTEST_SKIP() << loaded.error().message();
    nvrtc_ = *loaded;
  }

  NvrtcApi nvrtc_;
};

TEST_F(Nvrtc, CompilesTheStage) {
  EXPECT_THAT(CompileCubin(nvrtc_, StageSource(), "stage.cu", "sm_90"), IsOk());
}

TEST_F(Nvrtc, CompilesWhatTheJudgeAsksAboutBytes) {
  EXPECT_THAT(CompileCubin(nvrtc_, MemorySource(), "memory.cu", "sm_90"), IsOk());
}

TEST_F(Nvrtc, CompilesTheCalibration) {
  EXPECT_THAT(CompileCubin(nvrtc_, CalibrationSource(), "calibrate.cu", "sm_90"), IsOk());
}

TEST_F(Nvrtc, CompilesTheComparisonOfEveryType) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3Fn,
                            DType::kF8E4M3Fnuz, DType::kI32, DType::kI64, DType::kU8}) {
    EXPECT_THAT(CompileCubin(nvrtc_, ComparisonSource(dtype), "comparison.cu", "sm_90"), IsOk());
  }
}

TEST_F(Nvrtc, ShowsTheCompilersWordsAboutWrongText) {
  EXPECT_THAT(CompileCubin(nvrtc_, "__global__ void k() { nonsense; }", "bad.cu", "sm_90"),
              HasError(ErrorKind::kDevice, "nonsense"));
}

TEST_F(Nvrtc, RefusesAnArchitectureThatDoesNotExist) {
  EXPECT_THAT(CompileCubin(nvrtc_, StageSource(), "stage.cu", "sm_1"),
              HasError(ErrorKind::kDevice, "sm_1"));
}

TEST(CudaLibraries, TakesTheFirstNameThatExistsAnywhere) {
  const std::vector<std::filesystem::path> folders = {"/nowhere", "/etc"};
  EXPECT_EQ(FirstExisting(folders, {"no-such-file", "passwd"}), "/etc/passwd");
  EXPECT_EQ(FirstExisting(folders, {"no-such-file"}), "");
}

}  // namespace
}  // namespace roofmark::device
