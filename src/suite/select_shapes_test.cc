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
      workloads.push_back(
          {.op = &op, .shown = &cells[i], .members = {&cells[i]}, .share = cells[i].share});
      workloads.back().cost.bound_by = i % 2 == 0 ? "memory" : "vector_f32";
    }
  }
};

std::vector<SelectedShape> Select(std::span<const MinedWorkload> workloads,
                                  const SelectOptions& options) {
  return SelectShapes(workloads, options).shapes;
}

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
    const auto selected = Select(fleet.workloads, {.shapes = shapes});
    EXPECT_EQ(selected.size(), 30U);
    EXPECT_EQ(CountOf(selected, SelectedAs::kCertain), 30U);
    EXPECT_THAT(Total(selected), DoubleNear(1, 1e-12));
  }
}

TEST(SelectShapes, TakesTheLargestForSureAndDrawsTheRest) {
  const Fleet fleet(400);
  const auto selected = Select(fleet.workloads, {.shapes = 60, .coverage = 0.6});
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
    const auto selected = Select(
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
         Select(fleet.workloads,
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
  const auto selected = Select(fleet.workloads, {.shapes = 50});
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
    const auto selected = Select(fleet.workloads, {.shapes = shapes});
    EXPECT_EQ(CountOf(selected, SelectedAs::kCertain) + CountOf(selected, SelectedAs::kTail),
              shapes);
    EXPECT_THAT(Total(selected), DoubleNear(1, 1e-9)) << shapes;
  }
  EXPECT_TRUE(Select({}, {.shapes = 5}).empty());
}

// Memory-bound shapes all attain the same; others anything.
double AttainedOn(const Fleet& fleet, size_t index) {
  if (fleet.workloads[index].cost.bound_by == "memory") return 0.7;
  return static_cast<double>((index * 2654435761U >> 7) % 1000) / 1000;
}

std::vector<Attained> EarlierRound(const Fleet& fleet) {
  std::vector<Attained> round;
  for (size_t i = 0; i < fleet.workloads.size(); i += 2 + i % 2) {
    for (const size_t near : {i, i + 1}) {
      if (near >= fleet.workloads.size()) continue;
      round.push_back({.candidate = "mine",
                       .workload = "op/" + MinedShapeId(fleet.cells[near].sums, fleet.op),
                       .attainment = AttainedOn(fleet, near)});
    }
  }
  return round;
}

// Mean and variance of the estimate over draws.
std::pair<double, double> Estimates(const Fleet& fleet, SelectOptions options) {
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 200;
  for (int seed = 1; seed <= kDraws; ++seed) {
    options.seed = static_cast<uint64_t>(seed);
    double estimate = 0;
    for (const SelectedShape& shape : Select(fleet.workloads, options)) {
      estimate += shape.weight * AttainedOn(fleet, shape.workload);
    }
    sum += estimate;
    squares += estimate * estimate;
  }
  const double mean = sum / kDraws;
  return {mean, squares / kDraws - mean * mean};
}

TEST(SelectShapes, SpendsDrawsWhereAttainmentVaries) {
  const Fleet fleet(400);
  double truth = 0;
  for (size_t i = 0; i < 400; ++i) {
    truth += fleet.workloads[i].share.value * AttainedOn(fleet, i);
  }
  const SelectOptions by_share{.shapes = 80, .coverage = 0.4};
  SelectOptions neyman = by_share;
  neyman.attained = EarlierRound(fleet);
  const auto [plain_mean, plain_variance] = Estimates(fleet, by_share);
  const auto [mean, variance] = Estimates(fleet, neyman);
  EXPECT_NEAR(mean, truth, 4 * std::sqrt(variance / 200));
  EXPECT_NEAR(plain_mean, truth, 4 * std::sqrt(plain_variance / 200));
  EXPECT_LT(variance, 0.85 * plain_variance) << variance / plain_variance;
}

TEST(SelectShapes, SaysWhatItsDrawsWereAllottedBy) {
  const Fleet fleet(400);
  SelectOptions options{.shapes = 80, .coverage = 0.4};
  const SelectedShapes selected = SelectShapes(fleet.workloads, options);
  size_t draws = 0;
  double share = 0;
  for (const StratumPlan& stratum : selected.strata) {
    EXPECT_TRUE(stratum.deviation_of.empty()) << stratum.name;
    EXPECT_LE(stratum.draws, stratum.members);
    draws += stratum.draws;
    share += stratum.share;
  }
  EXPECT_EQ(draws, CountOf(selected.shapes, SelectedAs::kTail));
  for (const SelectedShape& shape : selected.shapes) {
    if (shape.as == SelectedAs::kCertain) share += shape.weight;
  }
  EXPECT_NEAR(share, 1, 1e-9);
  options.attained = EarlierRound(fleet);
  size_t measured = 0;
  for (const StratumPlan& stratum : SelectShapes(fleet.workloads, options).strata) {
    EXPECT_FALSE(stratum.deviation_of.empty()) << stratum.name;
    if (stratum.deviation_of != "stratum") continue;
    ++measured;
    const bool memory = stratum.name.ends_with("/memory");
    EXPECT_EQ(stratum.deviation < 1e-9, memory) << stratum.name;
  }
  EXPECT_GT(measured, 4U);
  // What was judged on shapes of another fleet tells nothing.
  options.attained = {{.candidate = "mine", .workload = "op/other", .attainment = 1}};
  for (const StratumPlan& stratum : SelectShapes(fleet.workloads, options).strata) {
    EXPECT_TRUE(stratum.deviation_of.empty());
  }
}

TEST(AttainedSpread, FallsBackToWhatHasEnoughShapes) {
  AttainedSpread spread;
  EXPECT_EQ(spread.Of("op/decode", "op/decode/2^3").from, "");
  for (const double value : {0.2, 0.4, 0.6, 0.8}) {
    spread.Add("a", "op/decode", "op/decode/2^3", value);
    spread.Add("b", "op/decode", "op/decode/2^3", value / 2);  // another level, its own mean
  }
  spread.Add("a", "op/decode", "op/decode/2^9", 0.5);
  EXPECT_EQ(spread.Of("op/decode", "op/decode/2^3").from, "stratum");
  EXPECT_NEAR(spread.Of("op/decode", "op/decode/2^3").value, std::sqrt((0.2 + 0.05) / 6), 1e-12);
  EXPECT_EQ(spread.Of("op/decode", "op/decode/2^9").from, "operator and phase");
  EXPECT_EQ(spread.Of("op/prefill", "op/prefill/2^9").from, "all");
}

}  // namespace
}  // namespace roofmark::suite
