// SPDX-License-Identifier: Apache-2.0
// By hand on few draws; pipeline/sampled_score_test.cc holds the intervals against known truth.
#include "score/sampling_error.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/student_t.h"

namespace roofmark::score {
namespace {

// Workloads of two operators in two phases, with values.
class Sampling : public testing::Test {
 protected:
  // "a/0" and so on. The weights are not normalised.
  void Add(const Operator& op, Phase phase, double weight, double value) {
    Workload& workload = *workloads_.emplace_back(std::make_unique<Workload>());
    workload.op = &op;
    workload.shape.id = std::to_string(terms_.size());
    workload.shape.phase = phase;
    terms_.push_back({.workload = &workload, .weight = weight, .value = value});
  }
  void Draw(size_t term, double probability, std::string stratum) {
    draws_[terms_[term].workload->Id()] = {.probability = probability,
                                           .stratum = std::move(stratum)};
  }

  Operator a_{.name = "a"};
  Operator b_{.name = "b"};
  std::vector<std::unique_ptr<Workload>> workloads_;
  std::vector<MeanTerm> terms_;
  SuiteDraws draws_;
};

TEST_F(Sampling, IsNothingWhereEverythingIsThereForSure) {
  Add(a_, Phase::kDecode, 3, 0.5);
  Add(a_, Phase::kDecode, 1, 0.9);
  Draw(1, 1, "a");  // drawn with certainty
  const SamplingError sampling = SamplingErrorOf(terms_, draws_);
  EXPECT_EQ(sampling.error, 0);
  EXPECT_EQ(sampling.draws, 0);
  EXPECT_EQ(Widened({0.6, 0.5, 0.7}, sampling, 0, 1), (Interval{0.6, 0.5, 0.7}));
}

TEST_F(Sampling, OfSeveralDrawsIsHajeks) {
  Add(a_, Phase::kDecode, 8, 0.4);
  Add(a_, Phase::kDecode, 1, 0.2);
  Add(a_, Phase::kDecode, 1, 0.8);
  Draw(1, 0.25, "a/decode");
  Draw(2, 0.5, "a/decode");
  const double mean = (8 * 0.4 + 0.2 + 0.8) / 10;
  const double z1 = 0.1 * (0.2 - mean);
  const double z2 = 0.1 * (0.8 - mean);
  const double b = (0.75 * z1 + 0.5 * z2) / 1.25;
  const double variance = 2 * (0.75 * (z1 - b) * (z1 - b) + 0.5 * (z2 - b) * (z2 - b));
  const SamplingError sampling = SamplingErrorOf(terms_, draws_);
  EXPECT_NEAR(sampling.error, std::sqrt(variance), 1e-12);
  EXPECT_NEAR(sampling.degrees, 1, 1e-12);
  EXPECT_NEAR(sampling.drawn, 0.2, 1e-12);
  EXPECT_EQ(sampling.draws, 2);
}

TEST_F(Sampling, CountsDrawsOfAStratumThatAreOutsideOfTheMean) {
  Add(a_, Phase::kDecode, 1, 0.2);
  Add(a_, Phase::kDecode, 1, 0.8);
  Draw(0, 0.5, "rest");
  draws_["b/9"] = {.probability = 0.5, .stratum = "rest"};
  draws_["b/8"] = {.probability = 0.5, .stratum = "b alone"};
  // Residuals -0.15 and 0, so B = -0.075.
  const SamplingError sampling = SamplingErrorOf(terms_, draws_);
  EXPECT_NEAR(sampling.error, std::sqrt(2 * 0.5 * 2 * 0.075 * 0.075), 1e-12);
}

TEST_F(Sampling, OfSingleDrawsComparesStrataThatAreAlike) {
  Add(a_, Phase::kDecode, 1, 0.2);
  Add(a_, Phase::kDecode, 1, 0.6);
  Add(a_, Phase::kPrefill, 1, 0.5);
  Add(b_, Phase::kDecode, 1, 0.9);
  for (size_t i = 0; i < 4; ++i) Draw(i, 0.1, std::to_string(i));
  // The first two with each other; the other two are left, of two operators.
  const double mean = 0.55;
  const auto collapsed = [&](double first, double second) {
    const double off = 0.25 * (first - mean) - 0.25 * (first + second - 2 * mean) / 2;
    return 2 * 2 * off * off;
  };
  const double variance = collapsed(0.2, 0.6) + collapsed(0.5, 0.9);
  const SamplingError sampling = SamplingErrorOf(terms_, draws_);
  EXPECT_NEAR(sampling.error, std::sqrt(variance), 1e-12);
  EXPECT_NEAR(sampling.degrees, 2, 1e-9);  // two equal parts of one degree each
  EXPECT_EQ(sampling.unknown, 0);
}

TEST_F(Sampling, LendsALoneDrawTheSpreadOfAllAndSaysWhereThereIsNone) {
  Add(a_, Phase::kDecode, 3, 0.5);
  Add(a_, Phase::kDecode, 1, 0.9);
  Draw(1, 0.1, "a");
  const double mean = 0.6;
  const double spread = 2 * (0.75 * 0.1 * 0.1 + 0.25 * 0.3 * 0.3);
  EXPECT_NEAR(SamplingErrorOf(terms_, draws_).error, std::sqrt(0.25 * 0.25 * spread), 1e-12)
      << mean;
  const SamplingError alone = SamplingErrorOf(std::span(terms_).subspan(1), draws_);
  EXPECT_EQ(alone.error, 0);
  EXPECT_EQ(alone.unknown, 1);
}

TEST_F(Sampling, AddsToAnIntervalByTheRootOfSquaresAndWithinItsBounds) {
  const SamplingError sampling{.error = 0.1, .degrees = 10};
  const double reach = StudentT95(10) * 0.1;
  const Interval wide = Widened({0.5, 0.4, 0.6}, sampling, 0, 1);
  EXPECT_NEAR(wide.low, 0.5 - std::hypot(0.1, reach), 1e-12);
  EXPECT_NEAR(wide.high, 0.5 + std::hypot(0.1, reach), 1e-12);
  EXPECT_EQ(Widened({0.9, 0.8, 0.95}, {.error = 0.4, .degrees = 1}, 0, 1).high, 1);
  EXPECT_EQ(Widened({0.1, 0.05, 0.2}, {.error = 0.4, .degrees = 1}, 0, 1).low, 0);
}

}  // namespace
}  // namespace roofmark::score
