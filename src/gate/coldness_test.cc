// SPDX-License-Identifier: Apache-2.0
#include "gate/coldness.h"

#include <algorithm>

#include "base/testing.h"
#include "device/cuda_stage.h"

namespace roofmark::gate {
namespace {

using testing::HasSubstr;

Json Cycles(std::vector<int64_t> cycles) {
  return Json(Json::Array(cycles.begin(), cycles.end()));
}

Json Probe(std::vector<int64_t> operands, std::vector<int64_t> hits, std::vector<int64_t> misses) {
  return Json::MakeObject()
      .Set("operands", Cycles(std::move(operands)))
      .Set("hits", Cycles(std::move(hits)))
      .Set("misses", Cycles(std::move(misses)));
}

// As many lines as a verdict needs, of which `warm` are as fast as a hit.
Coldness Found(int64_t warm) {
  std::vector<int64_t> operands(96, 800);
  std::fill_n(operands.begin(), warm, 300);
  const auto found = ReadColdness(
      Probe(operands, std::vector<int64_t>(96, 310), std::vector<int64_t>(96, 790)), 96);
  EXPECT_THAT(found, IsOk());
  return *found;
}

TEST(Coldness, LinesThatLoadLikeMissesAreCold) {
  const Coldness found = Found(0);
  EXPECT_EQ(found.sampled, 96);
  EXPECT_EQ(found.warm, 0);
  EXPECT_EQ(WarmFault(found), "");
  EXPECT_THAT(ColdnessText(found), HasSubstr("0 of 96 sampled lines of operands were warm"));
}

TEST(Coldness, LinesThatLoadLikeHitsAreWarmAndAFault) {
  EXPECT_THAT(WarmFault(Found(40)), HasSubstr("40 of 96 sampled lines"));
}

TEST(Coldness, AFewWarmLinesAreReportedAndNoFault) {
  const Coldness found = Found(5);
  EXPECT_EQ(WarmFault(found), "");
  EXPECT_THAT(ColdnessText(found), HasSubstr("5 of 96"));
}

TEST(Coldness, WhatTheMethodErrsByIsNotHeldAgainstAnyone) {
  Coldness found = Found(30);
  EXPECT_NE(WarmFault(found), "");
  found.misses_fast = 30;
  EXPECT_EQ(WarmFault(found), "");
}

TEST(Coldness, WhatMayBeChanceIsNoFault) {
  EXPECT_EQ(WarmFault(Found(17)), "");
  Coldness more;
  for (int i = 0; i < 10; ++i) more.Add(Found(17));
  EXPECT_NE(WarmFault(more), "");
}

TEST(Coldness, TooFewLinesDecideNothing) {
  const auto found = ReadColdness(Probe({300, 300}, {310, 310}, {790, 790}), 2);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(WarmFault(*found), "");
  Coldness many = *found;
  for (int i = 0; i < 40; ++i) many.Add(*found);
  EXPECT_NE(WarmFault(many), "");
}

TEST(Coldness, WhereHitsAndMissesLookAlikeNothingIsShown) {
  const auto found = ReadColdness(Probe({300, 400}, {300, 500, 310, 520}, {490, 510, 500, 480}), 2);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->sampled, 0);
  EXPECT_EQ(found->unclear, 1);
  EXPECT_THAT(ColdnessText(*found), HasSubstr("coldness not shown"));
}

// A batch whose hits and misses overlap, in which the median miss took `miss` cycles.
Coldness Blurred(int64_t miss) {
  const auto found =
      ReadColdness(Probe({300, 400}, {300, 620, 310, 640}, {miss - 10, miss + 10, miss, miss}), 2);
  EXPECT_THAT(found, IsOk());
  EXPECT_EQ(found->unclear, 1);
  return *found;
}

Coldness Sum(const std::vector<Coldness>& batches) {
  Coldness sum;
  for (const Coldness& batch : batches) sum.Add(batch);
  return sum;
}

TEST(Coldness, LinesThatNoFlushEvictsAreAFaultWhenMostBatchesShowThem) {
  const Coldness alike = Blurred(470);
  EXPECT_EQ(alike.alike, 1);
  EXPECT_THAT(WarmFault(Sum(std::vector<Coldness>(6, alike))),
              HasSubstr("6 of 6 batches lines that the flush evicts loaded as fast"));
  EXPECT_EQ(WarmFault(Sum(std::vector<Coldness>(5, alike))), "");
  const Coldness clear = Found(0);
  EXPECT_EQ(WarmFault(Sum({alike, alike, alike, clear, clear, clear})), "");
}

TEST(Coldness, UnclearReadingsAreAFaultWhereOthersHaveClearOnes) {
  std::vector<Coldness> batches(7, Blurred(615));
  EXPECT_EQ(batches[0].alike, 0);
  EXPECT_EQ(WarmFault(Sum(batches)), "");
  batches[3].clear_elsewhere = 40;
  EXPECT_THAT(WarmFault(Sum(batches)), HasSubstr("which this device shows clearly of other"));
}

TEST(Coldness, UnclearReadingsAreToldBesideClearOnes) {
  EXPECT_THAT(ColdnessText(Sum({Found(0), Blurred(615), Found(0)})),
              HasSubstr("not shown in 1 of 3 batches"));
  EXPECT_THAT(ColdnessText(Found(0)), testing::Not(HasSubstr("not shown")));
}

TEST(Coldness, NothingProbedSaysNothing) {
  EXPECT_THAT(ReadColdness(Probe({}, {}, {}), 0), IsOk());
  EXPECT_EQ(ColdnessText({}), "");
  EXPECT_EQ(WarmFault({}), "");
}

TEST(Coldness, RefusesAProbeThatLacksLines) {
  EXPECT_THAT(ReadColdness(Probe({300}, {300}, {800}), 2),
              HasError(ErrorKind::kInput, "lacks lines"));
  EXPECT_THAT(ReadColdness(Probe({300}, {}, {}), 1), HasError(ErrorKind::kInput, "lacks lines"));
  EXPECT_THAT(ReadColdness(Probe({-1}, {1}, {2}), 1), HasError(ErrorKind::kInput, "no cycles"));
}

TEST(SampleLines, LieInColdOperandsApartFromPageHeads) {
  const std::vector<Tensor> tensors = {
      {.name = "x", .dtype = DType::kF32, .sizes = {1 << 20}},
      {.name = "w", .dtype = DType::kF32, .sizes = {1 << 20}, .residency = Residency::kWarm}};
  const device::ArenaLayout layout = device::LayOut(tensors);
  Random random(7);
  const std::vector<int64_t> lines = SampleLines(layout, &random);
  EXPECT_EQ(lines.size(), device::kProbedLines);
  for (const int64_t line : lines) {
    EXPECT_GE(line, layout.places[0].offset);
    EXPECT_LE(line + 128, layout.places[0].offset + (int64_t{4} << 20));
    EXPECT_EQ(line % 128, 0);
    EXPECT_GE(line % (int64_t{2} << 20), 4096);
  }
  EXPECT_EQ(std::ranges::adjacent_find(lines), lines.end());
}

TEST(SampleLines, AreFewerWhereOperandsAreSmallAndNoneWhereAllAreWarm) {
  const std::vector<Tensor> small = {{.name = "x", .dtype = DType::kF32, .sizes = {100}}};
  Random random(7);
  EXPECT_EQ(SampleLines(device::LayOut(small), &random).size(), 3U);
  const std::vector<Tensor> warm = {
      {.name = "x", .dtype = DType::kF32, .sizes = {4096}, .residency = Residency::kWarm}};
  EXPECT_TRUE(SampleLines(device::LayOut(warm), &random).empty());
}

}  // namespace
}  // namespace roofmark::gate
