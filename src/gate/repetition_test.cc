// SPDX-License-Identifier: Apache-2.0
#include "gate/repetition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace roofmark::gate {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Repetition, TheReasonSaysHowOftenAndWhatWasSeenFirst) {
  const Repetitions seen = {
      .made = 8, .differing = 3, .wrong = 2, .first_fault = "1 of 64 elements outside"};
  EXPECT_THAT(seen.Reason(), StartsWith("intermittent: 2 of 8 repetitions"));
  EXPECT_THAT(seen.Reason(), HasSubstr("first: 1 of 64 elements outside"));
}

}  // namespace
}  // namespace roofmark::gate
