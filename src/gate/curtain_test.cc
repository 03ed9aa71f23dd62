// SPDX-License-Identifier: Apache-2.0
#include "gate/curtain.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/testing.h"
#include "device/cpu_arena.h"

namespace roofmark::gate {
namespace {

std::unique_ptr<device::CpuArena> ArenaOf(const std::string& text) {
  const Tensor tensor{
      .name = "x", .dtype = DType::kU8, .sizes = {static_cast<int64_t>(text.size())}};
  auto arena = device::CpuArena::Make(device::LayOut({&tensor, 1}));
  EXPECT_THAT(arena, IsOk());
  EXPECT_THAT((*arena)->Write((*arena)->layout().places[0].offset, text), IsOk());
  return std::move(*arena);
}

std::string TextOf(device::CpuArena& arena) {
  const device::TensorPlace& place = arena.layout().places[0];
  return *arena.Read(place.offset, place.tensor.Bytes());
}

TEST(Curtain, HidesEachInputUntilItsCallIsDue) {
  const auto first = ArenaOf("one");
  const auto second = ArenaOf("two");
  const std::array<TimedCall, 2> calls = {TimedCall{.in = first.get()},
                                          TimedCall{.in = second.get()}};
  Curtain curtain(calls);
  EXPECT_EQ(TextOf(*first), std::string(3, '\0'));
  EXPECT_EQ(TextOf(*second), std::string(3, '\0'));
  curtain.Raise(1);
  EXPECT_EQ(TextOf(*first), std::string(3, '\0'));
  EXPECT_EQ(TextOf(*second), "two");
}

TEST(Curtain, GivesBackWhatIsStillAwayWhenABatchEndsEarly) {
  const auto first = ArenaOf("one");
  const auto second = ArenaOf("two");
  const std::array<TimedCall, 2> calls = {TimedCall{.in = first.get()},
                                          TimedCall{.in = second.get()}};
  {
    Curtain(calls).Raise(0);
  }
  EXPECT_EQ(TextOf(*first), "one");
  EXPECT_EQ(TextOf(*second), "two");
}

TEST(Curtain, LeavesTheGuardsAsTheyWere) {
  const auto arena = ArenaOf("one");
  EXPECT_THAT(arena->Poison(), IsOk());
  const std::array<TimedCall, 1> calls = {TimedCall{.in = arena.get()}};
  {
    const Curtain curtain(calls);
  }
  EXPECT_TRUE(*arena->GuardsIntact());
}

}  // namespace
}  // namespace roofmark::gate
