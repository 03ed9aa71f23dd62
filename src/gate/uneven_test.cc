// SPDX-License-Identifier: Apache-2.0
#include "gate/uneven.h"

#include <algorithm>
#include <numeric>

#include "base/testing.h"

namespace roofmark::gate {
namespace {

using testing::HasSubstr;

// Batches of eight calls of 2 us in an order of slots that changes, one of them longer.
class UnevenTest : public testing::Test {
 protected:
  void Batch(size_t position, double longest_ns) {
    std::vector<double> times(8, 2000);
    times[position] = longest_ns;
    uneven_.Add(times, slots_);
    std::ranges::rotate(slots_, slots_.begin() + 3);
  }

  std::vector<size_t> slots_ = {0, 1, 2, 3, 4, 5, 6, 7};
  Uneven uneven_;
};

TEST_F(UnevenTest, AFirstCallThatIsAlwaysLongDoesTheOthersWork) {
  for (int i = 0; i < 6; ++i) Batch(0, 30'000);
  EXPECT_FALSE(uneven_.Suspects());
  EXPECT_THAT(uneven_.Fault(), HasSubstr("in 6 of 6 batches the same call, by its place"));
}

TEST_F(UnevenTest, AFirstCallThatMayFetchItsCodeIsCountedInTheMean) {
  for (int i = 0; i < 6; ++i) Batch(0, 10'000);
  EXPECT_EQ(uneven_.Fault(), "");
  EXPECT_TRUE(uneven_.FetchesCode());
  EXPECT_THAT(uneven_.means_ns(), testing::Each(3000));
  EXPECT_THAT(uneven_.CodeText(), HasSubstr("first call of a batch takes 10.0 us"));
}

TEST_F(UnevenTest, NoOtherCallFetchesCode) {
  for (int i = 0; i < 6; ++i) Batch(1, 10'000);
  EXPECT_FALSE(uneven_.FetchesCode());
  EXPECT_THAT(uneven_.Fault(), HasSubstr("by its place"));
}

TEST_F(UnevenTest, NorDoesACallOnCertainOperandsThatIsFirstNowAndThen) {
  for (int i = 0; i < 8; ++i) {
    const auto at = std::ranges::find(slots_, size_t{5}) - slots_.begin();
    Batch(static_cast<size_t>(at), 10'000);
  }
  EXPECT_FALSE(uneven_.FetchesCode());
  EXPECT_THAT(uneven_.Fault(), HasSubstr("by its operands"));
}

TEST_F(UnevenTest, SoDoesTheCallOnCertainOperands) {
  for (int i = 0; i < 6; ++i) {
    const auto at = std::ranges::find(slots_, size_t{5}) - slots_.begin();
    Batch(static_cast<size_t>(at), 30'000);
  }
  EXPECT_THAT(uneven_.Fault(), HasSubstr("by its operands"));
}

TEST_F(UnevenTest, AsksForMoreBatchesWhileItSuspectsAndDecidesOnNoFewer) {
  EXPECT_FALSE(uneven_.Suspects());
  for (int i = 0; i < 5; ++i) Batch(0, 30'000);
  EXPECT_TRUE(uneven_.Suspects());
  EXPECT_EQ(uneven_.Fault(), "");
}

TEST_F(UnevenTest, ALittleLongerIsNotLong) {
  for (int i = 0; i < 8; ++i) Batch(0, 4'000);
  EXPECT_FALSE(uneven_.Suspects());
  EXPECT_EQ(uneven_.Fault(), "");
}

TEST_F(UnevenTest, BatchesOfTwoCallsAreNotCounted) {
  for (int i = 0; i < 8; ++i) uneven_.Add(std::vector<double>{30'000, 2000}, {0, 1});
  EXPECT_FALSE(uneven_.Suspects());
  EXPECT_EQ(uneven_.Fault(), "");
}

TEST_F(UnevenTest, ACallThatDoesTheOthersWorkAtAnotherPlaceEachTimeIsFoundByTheMean) {
  for (size_t i = 0; i < 8; ++i) Batch((3 * i + i / 3) % 8, 30'000);
  EXPECT_THAT(uneven_.Fault(), HasSubstr("the mean of a batch's calls is 2.75 times their median"));
}

TEST_F(UnevenTest, ALittleOfTheOthersWorkIsInTheMean) {
  for (size_t i = 0; i < 8; ++i) Batch((3 * i + i / 3) % 8, 4000);
  EXPECT_EQ(uneven_.Fault(), "");
  EXPECT_TRUE(uneven_.Skewed());
  EXPECT_THAT(uneven_.means_ns(), testing::Each(2250));
  EXPECT_THAT(uneven_.SkewText(), HasSubstr("1.12 times"));
}

TEST_F(UnevenTest, AMachinesMoodNowAndThenIsNoSkew) {
  for (size_t i = 0; i < 8; ++i) Batch(i, i % 3 == 0 ? 30'000 : 2000);
  EXPECT_FALSE(uneven_.Skewed());
  EXPECT_EQ(uneven_.Fault(), "");
}

TEST(Uneven, CountsTheWorkOfBatchesOfThree) {
  Uneven uneven;
  for (size_t i = 0; i < 6; ++i) {
    std::vector<double> times(3, 1000);
    times[i % 3] = 40'000;
    uneven.Add(times, {0, 1, 2});
  }
  EXPECT_THAT(uneven.Fault(), HasSubstr("a few calls do the work of the others"));
}

}  // namespace
}  // namespace roofmark::gate
