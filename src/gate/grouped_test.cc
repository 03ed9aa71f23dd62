// SPDX-License-Identifier: Apache-2.0
#include "gate/grouped.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/testing.h"
#include "device/fake_device.h"

namespace roofmark::gate {
namespace {

using Ints = std::vector<int32_t>;

std::unique_ptr<device::Arena> ArenaOf(const Ints& sorted, const Ints& keys) {
  device::FakeDevice fake;
  const std::vector<Tensor> tensors = {
      {.name = "sorted", .dtype = DType::kI32, .sizes = {static_cast<int64_t>(sorted.size())}},
      {.name = "keys", .dtype = DType::kI32, .sizes = {static_cast<int64_t>(keys.size())}}};
  auto arena = *fake.MakeArena(device::LayOut(tensors));
  size_t at = 0;
  for (const Ints* values : {&sorted, &keys}) {
    const std::string bytes(reinterpret_cast<const char*>(values->data()), values->size() * 4);
    EXPECT_TRUE(arena->Write(arena->layout().places[at++].offset, bytes).has_value());
  }
  return arena;
}

Result<device::Comparison> Compare(const Ints& got, const Ints& want, const Ints& keys,
                                   GroupBy by) {
  const Tolerance tolerance{.kind = CompareKind::kGrouped, .group_by = by, .groups = "keys"};
  return CompareGrouped(*ArenaOf(got, Ints(keys.size(), 0)), *ArenaOf(want, keys), 0, tolerance);
}

TEST(Grouped, OrderInsideAGroupIsFree) {
  EXPECT_TRUE(Compare({2, 0, 1, 4, 3}, {0, 1, 2, 3, 4}, {0, 3, 5}, GroupBy::kOffsets)->within);
  EXPECT_TRUE(Compare({1, 0, 3, 2}, {0, 1, 2, 3}, {7, 8}, GroupBy::kLabels)->within);
}

TEST(Grouped, EqualLabelsSideBySideAreOneGroup) {
  EXPECT_TRUE(Compare({3, 2, 1, 0}, {0, 1, 2, 3}, {7, 7}, GroupBy::kLabels)->within);
  EXPECT_FALSE(Compare({3, 2, 1, 0}, {0, 1, 2, 3}, {7, 8}, GroupBy::kLabels)->within);
}

TEST(Grouped, AnElementInAnotherGroupIsWrong) {
  const auto found = Compare({0, 1, 3, 2, 4}, {0, 1, 2, 3, 4}, {0, 3, 5}, GroupBy::kOffsets);
  EXPECT_FALSE(found->within);
  EXPECT_EQ(found->wrong, 2);
  EXPECT_EQ(found->first_wrong, 2);
}

TEST(Grouped, ARepeatedElementIsWrong) {
  EXPECT_FALSE(Compare({0, 0, 2}, {0, 1, 2}, {0, 3}, GroupBy::kOffsets)->within);
}

TEST(Grouped, WhatWasNeverWrittenIsCounted) {
  EXPECT_EQ(Compare({0, -1, -1}, {0, 1, 2}, {0, 3}, GroupBy::kOffsets)->poisoned, 2);
}

TEST(Grouped, OffsetsThatFallAreTheReferencesFault) {
  const auto found = Compare({0, 1}, {0, 1}, {0, 2, 1}, GroupBy::kOffsets);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().kind(), ErrorKind::kInput);
  EXPECT_NE(found.error().message().find("offset 1 follows 2"), std::string::npos);
}

}  // namespace
}  // namespace roofmark::gate
