// SPDX-License-Identifier: Apache-2.0
#include "agent/pair_statistics.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "base/hash.h"
#include "base/testing.h"

namespace roofmark::agent {
namespace {

// Times as they come from a busy machine: a few percent of noise, one call in ten much later, and
// slow stretches that hit whole rounds of one kernel or of both.
class FakeMachine {
 public:
  explicit FakeMachine(uint64_t seed) : random_(seed) {}

  struct Times {
    std::vector<double> incumbent;
    std::vector<double> challenger;
  };

  struct Setting {
    size_t pairs = 64;
    size_t round = 16;      // calls of one kernel in a row
    double speed = 1;       // challenger's time / incumbent's
    double noise = 0.02;    // relative spread of one call
    double bad_rounds = 0;  // probability that a round of one kernel runs 20 % slower
  };

  Times Play(const Setting& setting) {
    Times times;
    double slow_a = 1;
    double slow_b = 1;
    for (size_t i = 0; i < setting.pairs; ++i) {
      if (i % setting.round == 0) {
        slow_a = Uniform() < setting.bad_rounds ? 1.2 : 1;
        slow_b = Uniform() < setting.bad_rounds ? 1.2 : 1;
      }
      times.incumbent.push_back(1000 * slow_a * Call(setting.noise));
      times.challenger.push_back(1000 * slow_b * setting.speed * Call(setting.noise));
    }
    return times;
  }

 private:
  double Uniform() { return static_cast<double>(random_.Next() >> 11) * 0x1p-53; }
  double Normal() {
    return std::sqrt(-2 * std::log(1 - Uniform())) * std::cos(2 * std::numbers::pi * Uniform());
  }
  double Call(double noise) {
    const double late = Uniform() < 0.1 ? 1 + Uniform() : 1;
    return late * std::exp(noise * Normal());
  }

  Random random_;
};

// The share of simulated campaigns that promote at least once in `tests` tests.
double PromotingCampaigns(const FakeMachine::Setting& setting, double least_effect, int campaigns,
                          int64_t tests) {
  FakeMachine machine(7);
  int promoting = 0;
  for (int c = 0; c < campaigns; ++c) {
    bool promoted = false;
    for (int64_t k = 1; k <= tests && !promoted; ++k) {
      const auto [incumbent, challenger] = machine.Play(setting);
      promoted = ComparePairs(incumbent, challenger, least_effect).p <= ErrorShare(0.05, k);
    }
    promoting += promoted ? 1 : 0;
  }
  return static_cast<double>(promoting) / campaigns;
}

TEST(ComparePairs, CountsWinsBeyondTheLeastEffectAndCutsTheLongerList) {
  const std::vector<double> incumbent = {100, 100, 100, 100, 100};
  const std::vector<double> challenger = {90, 98.5, 99.5, 110};
  const PairStats stats = ComparePairs(incumbent, challenger, 0.01);
  EXPECT_EQ(stats.wins, 2);
  EXPECT_EQ(stats.losses, 2);
  EXPECT_EQ(stats.p, 1);
  EXPECT_NEAR(stats.ratio.median, 0.99, 1e-12);
}

TEST(ComparePairs, IsTheExactSignTest) {
  const std::vector<double> incumbent(10, 100);
  const std::vector<double> challenger(10, 50);
  EXPECT_NEAR(ComparePairs(incumbent, challenger, 0).p, 2.0 / 1024, 1e-12);
  EXPECT_EQ(ComparePairs(challenger, incumbent, 0).p, 1);
  EXPECT_EQ(ComparePairs(incumbent, incumbent, 0).pairs(), 0);
  EXPECT_EQ(ComparePairs({}, challenger, 0), PairStats{});
}

TEST(ComparePairs, ReadsBackWhatItWrites) {
  const std::vector<double> incumbent = {100, 101, 99};
  const std::vector<double> challenger = {90, 92, 91};
  const PairStats stats = ComparePairs(incumbent, challenger, 0.01);
  EXPECT_EQ(*PairStatsFromJson(PairStatsToJson(stats)), stats);
}

TEST(ErrorShare, AddsUpToTheErrorRateOverAnyNumberOfTests) {
  double sum = 0;
  for (int64_t k = 1; k <= 100000; ++k) sum += ErrorShare(0.05, k);
  EXPECT_LT(sum, 0.05);
  EXPECT_GT(sum, 0.0499);
}

TEST(NoiseFloor, IsTheLargestDistanceFromEqual) {
  PairStats same;
  same.ratio = {.median = 1, .low = 0.97, .high = 1.01};
  EXPECT_NEAR(NoiseFloor(same), 0.03, 1e-12);
}

// A kernel against itself, thirty times a campaign: the union bound promises at most 5 %.
TEST(PairedTest, KeepsTheErrorRateOnAKernelAgainstItselfEvenWithoutALeastEffect) {
  EXPECT_LE(PromotingCampaigns({}, 0, 400, 30), 0.05);
}

// The worst case that the null hypothesis admits: exactly the least effect.
TEST(PairedTest, KeepsTheErrorRateAtTheLeastEffect) {
  EXPECT_LE(PromotingCampaigns({.speed = 0.99}, 0.01, 400, 30), 0.05);
}

// Whole rounds that one kernel loses are not single coin tosses, which the exact level assumes. The
// least effect, which a noisy calibration raises, still keeps an unchanged kernel out.
TEST(PairedTest, KeepsTheErrorRateWhenWholeRoundsAreDisturbed) {
  EXPECT_LE(PromotingCampaigns({.pairs = 256, .noise = 0.01, .bad_rounds = 0.2}, 0.01, 60, 30),
            0.05);
}

TEST(PairedTest, SeesFivePercentInTwoPercentOfNoise) {
  EXPECT_GE(PromotingCampaigns({.pairs = 128, .speed = 0.95}, 0.01, 200, 1), 0.95);
}

}  // namespace
}  // namespace roofmark::agent
