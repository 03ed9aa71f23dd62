// SPDX-License-Identifier: Apache-2.0
// A score over a drawn suite against the score over all workloads that it was drawn from: the truth
// is within the interval as often as it is said.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "base/student_t.h"
#include "score/sampling_error.h"
#include "suite/select_shapes.h"

namespace roofmark::pipeline {
namespace {

constexpr size_t kCount = 400;

// Workloads of two operators in two phases, with shares that fall off, and an attainment each that
// goes with the load as in life: small shapes attain little, and some kernels are bad at odd sizes.
struct Fleet {
  Operator ops[2] = {{.name = "a", .axes = {{"n", false}}}, {.name = "b", .axes = {{"n", false}}}};
  std::vector<suite::FleetCell> cells = std::vector<suite::FleetCell>(kCount);
  std::vector<suite::MinedWorkload> mined;
  std::vector<std::unique_ptr<Workload>> workloads;
  std::vector<double> attained;

  explicit Fleet(double decay) {
    double total = 0;
    for (size_t i = 0; i < kCount; ++i) total += std::pow(1 + static_cast<double>(i), -decay);
    for (size_t i = 0; i < kCount; ++i) {
      const int64_t load = 1 + static_cast<int64_t>(i * 7919 % 5000);
      suite::FleetCell& cell = cells[i];
      cell.sums.phase = i % 3 == 0 ? Phase::kPrefill : Phase::kDecode;
      cell.sums.axes["n"] = load;
      cell.share.value = std::pow(1 + static_cast<double>(i), -decay) / total;
      mined.push_back({.op = &ops[i % 2],
                       .shown = &cell,
                       .members = {&cell},
                       .share = cell.share,
                       .cost = {.bound_by = load % 2 == 0 ? "memory" : "tensor_bf16"}});
      Workload& workload = *workloads.emplace_back(std::make_unique<Workload>());
      workload.op = &ops[i % 2];
      workload.shape.id = std::to_string(i);
      workload.shape.phase = cell.sums.phase;
      const double by_load = 1 / (1 + std::exp(5 - std::log(static_cast<double>(load))));
      attained.push_back(by_load * (load % 7 == 0 ? 0.4 : 1) *
                         (0.8 + 0.2 * static_cast<double>(i * 2654435761U % 100) / 100));
    }
  }

  double Truth(const Operator* op) const {
    double sum = 0;
    double weight = 0;
    for (size_t i = 0; i < kCount; ++i) {
      if (op != nullptr && workloads[i]->op != op) continue;
      sum += mined[i].share.value * attained[i];
      weight += mined[i].share.value;
    }
    return sum / weight;
  }
};

struct Held {
  int within = 0;
  double draws = 0;     // mean of the drawn workloads
  double variance = 0;  // mean of the stated ones
  double squares = 0;   // mean of the estimates' squared distances to the truth
};

constexpr int kSuites = 300;

// Over suites by different seeds; `op`: of this operator alone, nullptr: of all.
Held HoldAgainstTruth(const Fleet& fleet, size_t shapes, const Operator* op) {
  Held held;
  const double truth = fleet.Truth(op);
  for (int seed = 1; seed <= kSuites; ++seed) {
    const auto selected = suite::SelectShapes(
        fleet.mined, {.shapes = shapes, .coverage = 0.5, .seed = static_cast<uint64_t>(seed)});
    SuiteDraws draws;
    std::vector<score::MeanTerm> terms;
    double sum = 0;
    double weight = 0;
    for (const suite::SelectedShape& shape : selected.shapes) {
      const Workload& workload = *fleet.workloads[shape.workload];
      if (!shape.stratum.empty()) draws[workload.Id()] = {shape.probability, shape.stratum};
      if (shape.weight == 0 || (op != nullptr && workload.op != op)) continue;
      terms.push_back({&workload, shape.weight, fleet.attained[shape.workload]});
      sum += shape.weight * fleet.attained[shape.workload];
      weight += shape.weight;
    }
    const double estimate = sum / weight;
    const score::SamplingError sampling = score::SamplingErrorOf(terms, draws);
    EXPECT_EQ(sampling.unknown, 0);
    const double reach = StudentT95(sampling.degrees) * sampling.error;
    held.within += std::abs(estimate - truth) <= reach ? 1 : 0;
    held.variance += sampling.error * sampling.error / kSuites;
    held.draws += static_cast<double>(sampling.draws) / kSuites;
    held.squares += (estimate - truth) * (estimate - truth) / kSuites;
  }
  return held;
}

TEST(SampledScore, LiesAboutTheTruthAsFarAsItsIntervalSays) {
  for (const double decay : {1.0, 0.5}) {
    const Fleet fleet(decay);
    for (const size_t shapes : {size_t{24}, size_t{60}, size_t{150}}) {
      for (const Operator* op : {static_cast<const Operator*>(nullptr), &fleet.ops[0]}) {
        const Held held = HoldAgainstTruth(fleet, shapes, op);
        SCOPED_TRACE(testing::Message()
                     << shapes << " shapes, decay " << decay
                     << (op == nullptr ? ", all: " : ", one operator: ") << held.within << " of "
                     << kSuites << ", " << held.draws << " draws, variance " << held.variance
                     << ", true " << held.squares);
        // Over 2,000 suites each: 89 % with two draws, 91 % with three to six, 94 to 100 % with
        // more and where the variance is lent.
        EXPECT_GE(held.within, held.draws < 8 ? kSuites * 85 / 100 : kSuites * 90 / 100);
        EXPECT_GT(held.variance, 0.8 * held.squares);
      }
    }
  }
}

}  // namespace
}  // namespace roofmark::pipeline
