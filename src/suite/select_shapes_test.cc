// SPDX-License-Identifier: Apache-2.0
#include "suite/select_shapes.h"

#include <cmath>
#include <map>
#include <set>

#include "base/hash.h"
#include "base/testing.h"

namespace roofmark::suite {
namespace {

using testing::DoubleNear;

// Workloads of one operator by the size n, in both phases; the largest has half of the time.
struct Fleet {
  Operator op{.name = "op", .axes = {{"n", false}}};
  std::vector<FleetCell> cells;
  std::vector<MinedWorkload> workloads;
  explicit Fleet(size_t count) {
    cells.resize(count);
    double total = 0;
    for (size_t i = 0; i < count; ++i) total += 1 / static_cast<double>(1 + i);
    for (size_t i = 0; i < count; ++i) {
      cells[i].sums.phase = i % 3 == 0 ? Phase::kPrefill : Phase::kDecode;
      cells[i].sums.axes["n"] = static_cast<int64_t>(1 + (i * 7919) % 5000);
      cells[i].share.value = 1 / static_cast<double>(1 + i) / total;
      workloads.push_back({.op = &op, .shown = &cells[i], .share = cells[i].share});
      workloads.back().cost.bound_by = i % 2 == 0 ? "memory" : "vector_f32";
    }
  }
};

double Total(const std::vector<SelectedShape>& selected) {
  double total = 0;
  for (const SelectedShape& shape : selected) total += shape.weight;
  return total;
}

size_t CountOf(const std::vector<SelectedShape>& selected, SelectedAs as) {
  return static_cast<size_t>(
      std::ranges::count(selected, as, [](const SelectedShape& shape) { return shape.as; }));
}

TEST(SelectShapes, TakesAllWhereThereIsRoom) {
  const Fleet fleet(30);
  for (const size_t shapes : {size_t{0}, size_t{30}, size_t{100}}) {
    const auto selected = SelectShapes(fleet.workloads, {.shapes = shapes});
    EXPECT_EQ(selected.size(), 30U);
    EXPECT_EQ(CountOf(selected, SelectedAs::kCertain), 30U);
    EXPECT_THAT(Total(selected), DoubleNear(1, 1e-12));
  }
}

TEST(SelectShapes, TakesTheLargestForSureAndDrawsTheRest) {
  const Fleet fleet(400);
  const auto selected = SelectShapes(fleet.workloads, {.shapes = 60, .coverage = 0.6});
  EXPECT_EQ(CountOf(selected, SelectedAs::kCertain) + CountOf(selected, SelectedAs::kTail), 60U);
  std::set<size_t> seen;
  double certain = 0;
  for (const SelectedShape& shape : selected) {
    EXPECT_TRUE(seen.insert(shape.workload).second) << shape.workload;
    EXPECT_GT(shape.probability, 0);
    EXPECT_LE(shape.probability, 1 + 1e-12);
    EXPECT_EQ(shape.stratum.empty(), shape.as != SelectedAs::kTail);
    if (shape.as == SelectedAs::kCertain) certain += shape.weight;
  }
  EXPECT_GE(certain, 0.6 - 1e-12);
  EXPECT_TRUE(seen.contains(0) && seen.contains(1) && seen.contains(2));
}

TEST(SelectShapes, EstimatesWithoutBias) {
  const Fleet fleet(400);
  // A score that depends on the load, as attainment does.
  const auto score = [&](size_t index) {
    const double n = static_cast<double>(LoadOf(fleet.cells[index].sums, fleet.op));
    return 1 / (1 + std::exp(4 - std::log(n)));
  };
  double truth = 0;
  for (size_t i = 0; i < 400; ++i) truth += fleet.workloads[i].share.value * score(i);
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 600;
  for (int seed = 1; seed <= kDraws; ++seed) {
    const auto selected = SelectShapes(
        fleet.workloads, {.shapes = 40, .coverage = 0.5, .seed = static_cast<uint64_t>(seed)});
    double estimate = 0;
    for (const SelectedShape& shape : selected) estimate += shape.weight * score(shape.workload);
    EXPECT_THAT(Total(selected), DoubleNear(1, 1e-9));
    sum += estimate;
    squares += estimate * estimate;
  }
  const double mean = sum / kDraws;
  const double error = std::sqrt((squares / kDraws - mean * mean) / kDraws);
  EXPECT_THAT(mean, DoubleNear(truth, 4 * error + 1e-9));
  EXPECT_LT(std::sqrt(kDraws) * error, 0.02);  // of a single draw
}

TEST(SelectShapes, DrawsWithTheProbabilityThatItPublishes) {
  const Fleet fleet(120);
  std::map<size_t, std::pair<double, int>> drawn;  // stated probability, times
  constexpr int kDraws = 3000;
  for (int seed = 1; seed <= kDraws; ++seed) {
    for (const SelectedShape& shape :
         SelectShapes(fleet.workloads,
                      {.shapes = 24, .coverage = 0.5, .seed = static_cast<uint64_t>(seed)})) {
      if (shape.as != SelectedAs::kTail) continue;
      auto& [probability, times] = drawn[shape.workload];
      if (times > 0) {
        EXPECT_THAT(shape.probability, DoubleNear(probability, 1e-12));
      }
      probability = shape.probability;
      ++times;
    }
  }
  for (const auto& [workload, entry] : drawn) {
    const double p = entry.first;
    const double error = std::sqrt(p * (1 - p) / kDraws);
    EXPECT_THAT(entry.second / static_cast<double>(kDraws), DoubleNear(p, 5 * error + 1e-9));
  }
  EXPECT_GT(drawn.size(), 80U);
}

TEST(SelectShapes, KeepsTwoOfEachPhaseAndTheExtremes) {
  Fleet fleet(300);
  for (size_t i = 0; i < 300; ++i) fleet.cells[i].sums.phase = Phase::kDecode;
  fleet.cells[290].sums.phase = fleet.cells[291].sums.phase = Phase::kPrefill;
  fleet.cells[295].sums.axes["n"] = int64_t{1000000};
  const auto selected = SelectShapes(fleet.workloads, {.shapes = 50});
  size_t prefill = 0;
  bool largest = false;
  for (const SelectedShape& shape : selected) {
    if (shape.workload == 290 || shape.workload == 291) ++prefill;
    if (shape.workload != 295) continue;
    largest = true;
    EXPECT_EQ(shape.as == SelectedAs::kRobustness, shape.weight == 0);
  }
  EXPECT_EQ(prefill, 2U);
  EXPECT_TRUE(largest);
}

TEST(SelectShapes, WorksWithTheFewestShapes) {
  const Fleet fleet(50);
  for (const size_t shapes : {size_t{1}, size_t{2}, size_t{3}, size_t{49}}) {
    const auto selected = SelectShapes(fleet.workloads, {.shapes = shapes});
    EXPECT_EQ(CountOf(selected, SelectedAs::kCertain) + CountOf(selected, SelectedAs::kTail),
              shapes);
    EXPECT_THAT(Total(selected), DoubleNear(1, 1e-9)) << shapes;
  }
  EXPECT_TRUE(SelectShapes({}, {.shapes = 5}).empty());
}

}  // namespace
}  // namespace roofmark::suite
