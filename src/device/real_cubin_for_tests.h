// SPDX-License-Identifier: Apache-2.0
// A real cubin for the tests of what reads and changes cubins: the stage, made by NVRTC where it is
// installed; no GPU is needed.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/testing.h"
#include "device/cuda_stage.h"
#include "device/nvrtc.h"

namespace roofmark::device {

class RealCubinTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto nvrtc = LoadNvrtc();
    if (!nvrtc) GTEST_SKIP() << nvrtc.error().message();
    const auto cubin = CompileCubin(*nvrtc, StageSource(), "stage.cu", "sm_90");
    ASSERT_THAT(cubin, IsOk());
    cubin_ = *cubin;
  }
  std::string cubin_;
};

}  // namespace roofmark::device
