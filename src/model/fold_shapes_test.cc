// SPDX-License-Identifier: Apache-2.0
#include "model/fold_shapes.h"

#include "base/hash.h"
#include "base/testing.h"
#include "model/aggregate_for_tests.h"

namespace roofmark {
namespace {

AggregateCell Cell(std::string op, int64_t tokens, int64_t ns, Phase phase = Phase::kDecode) {
  AggregateCell cell{.op = std::move(op), .phase = phase, .calls = 1, .launches = 2};
  if (tokens > 0) cell.axes["tokens"] = tokens;
  cell.dtypes["x"] = "bf16";
  cell.sum_ns = ns + 5;
  cell.exposed_ns = ns;
  cell.kernels["kernel"] = {2, ns + 5};
  cell.durations.Add(ns, 2);
  cell.measures["kv_lens"].Add(tokens);
  return cell;
}

ProfileAggregate Profile(uint64_t seed, size_t shapes) {
  Random random(seed);
  std::vector<AggregateCell> cells;
  for (size_t i = 0; i < shapes; ++i) {
    cells.push_back(Cell(i % 3 == 0 ? "rms_norm" : "gemm", static_cast<int64_t>(i + 1),
                         static_cast<int64_t>(random.Below(50)),
                         i % 2 == 0 ? Phase::kDecode : Phase::kPrefill));
  }
  cells.push_back(Cell("gemm", 0, 1000));  // a shape that nobody knows
  cells.push_back(Cell("", 7, 1000));      // and what nothing claims
  ProfileAggregate profile = WithCells({.hash = "hash" + std::to_string(seed)}, std::move(cells));
  Normalise(profile);
  return profile;
}

std::string Bytes(const ProfileAggregate& profile) {
  Aggregate aggregate;
  aggregate.Add(profile);
  return aggregate.ToJson().Dump();
}

TEST(FoldShapes, KeepsTheLargestOfEachOperatorAndLosesNothing) {
  const ProfileAggregate whole = Profile(1, 60);
  ProfileAggregate folded = whole;
  FoldShapes(folded, 5);
  std::map<std::string, size_t> kept;
  std::map<std::string, int64_t> counted;
  AggregateCell before;
  AggregateCell after;
  int64_t least = INT64_MAX;  // of what is kept of rms_norm
  for (const AggregateCell& cell : folded.cells) {
    AddCounts(cell, after);
    if (cell.op.empty()) continue;
    counted[cell.op] += cell.folded;
    if (cell.axes.empty()) continue;
    ++kept[cell.op];
    if (cell.op == "rms_norm") least = std::min(least, cell.exposed_ns);
  }
  EXPECT_EQ(kept, (std::map<std::string, size_t>{{"gemm", 5}, {"rms_norm", 5}}));
  EXPECT_EQ(counted, (std::map<std::string, int64_t>{{"gemm", 35}, {"rms_norm", 15}}));
  size_t larger = 0;
  for (const AggregateCell& cell : whole.cells) {
    AddCounts(cell, before);
    larger += cell.op == "rms_norm" && cell.exposed_ns > least ? 1 : 0;
  }
  EXPECT_LE(larger, 5U);
  after.folded = 0;
  EXPECT_EQ(before, after);  // time, calls, kernels, durations and lengths
  EXPECT_THAT(Aggregate::FromJson(Json::Parse(Bytes(folded)).value()), IsOk());
}

TEST(FoldShapes, KeepsTheTimeWithoutAnyShapeApart) {
  ProfileAggregate folded = Profile(1, 60);
  FoldShapes(folded, 1);
  size_t unknown = 0;
  for (const AggregateCell& cell : folded.cells) {
    if (cell.op == "gemm" && cell.axes.empty() && cell.folded == 0) {
      EXPECT_EQ(cell.exposed_ns, 1000);
      ++unknown;
    }
    EXPECT_TRUE(cell.folded == 0 || !cell.op.empty());
  }
  EXPECT_EQ(unknown, 1U);
}

TEST(FoldShapes, IsTheSameToTheByteHoweverOftenAndInWhateverOrder) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const ProfileAggregate whole = Profile(seed, 80);
    ProfileAggregate once = whole;
    FoldShapes(once, 7);
    ProfileAggregate twice = whole;
    FoldShapes(twice, 20);
    FoldShapes(twice, 7);
    FoldShapes(twice, 7);
    EXPECT_EQ(Bytes(once), Bytes(twice));
    ProfileAggregate shuffled = whole;
    Random random(seed);
    for (size_t i = shuffled.cells.size(); i > 1; --i) {
      std::swap(shuffled.cells[i - 1], shuffled.cells[random.Below(i)]);
    }
    Normalise(shuffled);
    FoldShapes(shuffled, 7);
    EXPECT_EQ(Bytes(once), Bytes(shuffled));
    EXPECT_EQ(Bytes(once), Aggregate::FromJson(Json::Parse(Bytes(once)).value())->ToJson().Dump());
    FoldShapes(once, 100);
    EXPECT_EQ(Bytes(once), Bytes(twice));
  }
}

TEST(FoldShapes, MergesWithItsUnfoldedSelfInEitherOrder) {
  const ProfileAggregate whole = Profile(3, 40);
  ProfileAggregate folded = whole;
  FoldShapes(folded, 4);
  Aggregate one;
  one.Add(whole);
  one.Add(folded);
  Aggregate other;
  other.Add(folded);
  other.Add(whole);
  EXPECT_EQ(one, other);
  EXPECT_EQ(one.ToJson().Dump(), Bytes(whole));  // the one that knows more stays
}

TEST(FoldShapes, LeavesAloneWhatIsWithinTheBudget) {
  const ProfileAggregate whole = Profile(3, 40);
  ProfileAggregate folded = whole;
  FoldShapes(folded, kMostShapes);
  EXPECT_EQ(whole, folded);
}

TEST(FoldShapes, IsRefusedWithAxes) {
  ProfileAggregate profile = Profile(3, 4);
  profile.cells.back().folded = 2;
  EXPECT_THAT(Aggregate::FromJson(Json::Parse(Bytes(profile)).value()),
              HasError(ErrorKind::kInput, "folded shapes has no axes"));
}

}  // namespace
}  // namespace roofmark
