// SPDX-License-Identifier: Apache-2.0
// Matchers for Results, and the few things that tests of many modules need.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace roofmark {

MATCHER(IsOk, "is a value") {
  if (arg.has_value()) return true;
  *result_listener << "whose error is: " << arg.error().message();
  return false;
}

// EXPECT_THAT(Parse("x"), HasError(ErrorKind::kInput, "line 1"));
MATCHER_P2(HasError, kind, text, "is an error that says so") {
  if (arg.has_value()) {
    *result_listener << "which is a value";
    return false;
  }
  *result_listener << "whose error is: " << arg.error().message();
  return arg.error().kind() == kind && arg.error().message().find(text) != std::string::npos;
}

// The folder with public traces and facts: $ROOFMARK_SHARED, or ../shared beside the source tree;
// empty where there is none, and then tests that need it skip openly.
inline std::filesystem::path SharedFolder(const char* source_dir) {
  const char* named = std::getenv("ROOFMARK_SHARED");
  const std::filesystem::path path =
      named != nullptr ? std::filesystem::path(named)
                       : std::filesystem::path(source_dir).parent_path() / "shared";
  return std::filesystem::exists(path / "facts") ? path : std::filesystem::path();
}

}  // namespace roofmark
