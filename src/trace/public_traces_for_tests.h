// SPDX-License-Identifier: Apache-2.0
// Tests on the public profiles, which lie beside the project and not in it.
#pragma once

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::trace {

// Skips openly where they are not there.
class PublicTraces : public testing::Test {
 protected:
  void SetUp() override {
    shared_ = SharedFolder(ROOFMARK_SOURCE_DIR);
    if (shared_.empty()) GTEST_SKIP() << "no folder with public traces: set ROOFMARK_SHARED";
    shared_ /= "traces";
  }
  fs::path shared_;
};

}  // namespace roofmark::trace
