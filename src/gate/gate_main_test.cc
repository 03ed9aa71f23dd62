// SPDX-License-Identifier: Apache-2.0
// Workers (of lint_suite_test.cc) are this binary started again, so its main must know them.
#include <gtest/gtest.h>

#include "worker/launcher.h"

int main(int argc, char** argv) {
  if (const auto code = roofmark::worker::MaybeRunWorker(argc, argv)) return *code;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
