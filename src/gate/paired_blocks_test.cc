// SPDX-License-Identifier: Apache-2.0
#include "gate/paired_blocks.h"

#include <cmath>
#include <iostream>
#include <numbers>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/testing.h"

namespace roofmark::gate {
namespace {

// A machine that does to times what real ones were seen to do. Everything is a property of the
// moment, and of the values in a slot, not of the kernel.
struct Weather {
  std::string name;
  double noise = 0.01;     // relative spread of one call
  double late = 0;         // share of calls that an interruption makes up to ten times longer
  double wander = 0;       // step of a random walk of the machine's speed, per call
  double trend = 0;        // growth of the time per call: it warms up
  double slow_mode = 0;    // how much slower the slower of two modes is
  double mode_change = 0;  // probability per call that the mode changes
  double tick_ns = 0;      // granularity of the clock
  double time_ns = 10'000;
};

class Machine {
 public:
  Machine(Weather weather, uint64_t seed) : weather_(std::move(weather)), random_(seed) {}

  // One comparison of a kernel with one that takes `ratio` of its time.
  Against Compare(double ratio, Effort effort, double line_error_rate, double margin) {
    const BlockPlan plan = PlanBlocks(effort, line_error_rate);
    std::vector<double> logs;
    while (logs.size() < plan.first_look) logs.push_back(Block(ratio));
    Against against = Weigh(logs, plan.look_error_rate, margin);
    if (against.standing != Standing::kUndecided) return against;
    while (logs.size() < plan.last_look) logs.push_back(Block(ratio));
    return Weigh(logs, plan.look_error_rate, margin);
  }

 private:
  double Uniform() { return static_cast<double>(random_.Next() >> 11) * 0x1p-53; }
  double Normal() {
    return std::sqrt(-2 * std::log(1 - Uniform())) * std::cos(2 * std::numbers::pi * Uniform());
  }

  double Call(double speed) {
    speed_ += weather_.wander * Normal() + weather_.trend;
    if (Uniform() < weather_.mode_change) slow_ = !slow_;
    double time = weather_.time_ns * speed * std::exp(speed_ + weather_.noise * Normal());
    if (slow_) time *= 1 + weather_.slow_mode;
    if (Uniform() < weather_.late) time *= 1 / (0.1 + 0.9 * Uniform());
    if (weather_.tick_ns > 0) time = weather_.tick_ns * std::round(time / weather_.tick_ns);
    return time;
  }

  // Eight slots, half of them each, as comparison.cc plays them.
  double Block(double ratio) {
    constexpr size_t kHalf = 4;
    std::array<std::array<double, kHalf>, 2> values{};
    for (auto& half : values) {
      for (double& value : half) value = std::exp(0.02 * Normal());
    }
    const size_t first = random_.Below(2);
    std::array<BlockHalf, 2> halves;
    for (const auto& [half, side] : std::array<std::pair<size_t, size_t>, 4>{
             {{0, first}, {0, 1 - first}, {1, 1 - first}, {1, first}}}) {
      for (const double value : values[half]) {
        const double time = Call(value * (side == 0 ? ratio : 1));
        (side == 0 ? halves[half].candidate : halves[half].baseline).push_back(time);
      }
    }
    return BlockLogRatio(halves);
  }

  Weather weather_;
  Random random_;
  double speed_ = 0;
  bool slow_ = false;
};

std::vector<Weather> AllWeathers() {
  return {{.name = "calm"},
          {.name = "heavy tails", .noise = 0.03, .late = 0.1},
          {.name = "drift", .wander = 0.003, .trend = 1e-4},
          {.name = "two modes", .slow_mode = 0.05, .mode_change = 0.02},
          {.name = "two modes that change with every batch", .slow_mode = 0.2, .mode_change = 0.25},
          {.name = "ticks of 32 ns at 2 us", .noise = 0.02, .tick_ns = 32, .time_ns = 2000},
          {.name = "everything",
           .noise = 0.03,
           .late = 0.1,
           .wander = 0.003,
           .trend = 1e-4,
           .slow_mode = 0.05,
           .mode_change = 0.02,
           .tick_ns = 32,
           .time_ns = 5000}};
}

struct Counts {
  int faster = 0;
  int slower = 0;
  int same = 0;
  int undecided = 0;
};

Counts Simulate(const Weather& weather, double ratio, int comparisons, double line_error_rate,
                double margin) {
  Machine machine(weather, 11);
  Counts counts;
  for (int i = 0; i < comparisons; ++i) {
    switch (machine.Compare(ratio, Effort::kQuick, line_error_rate, margin).standing) {
      case Standing::kFaster:
        ++counts.faster;
        break;
      case Standing::kSlower:
        ++counts.slower;
        break;
      case Standing::kSame:
        ++counts.same;
        break;
      case Standing::kUndecided:
      case Standing::kNone:
        ++counts.undecided;
        break;
    }
  }
  return counts;
}

// With no margin at all the test alone has to hold its level. 4000 comparisons of equal kernels in
// each weather; the bound is the stated rate and three standard deviations of the count.
TEST(EqualKernels, AreCalledDifferentNoMoreOftenThanStatedInAnyWeather) {
  constexpr int kComparisons = 4000;
  constexpr double kRate = 0.02;
  const double bound = kComparisons * kRate + 3 * std::sqrt(kComparisons * kRate * (1 - kRate));
  for (const Weather& weather : AllWeathers()) {
    const Counts counts = Simulate(weather, 1, kComparisons, kRate, 0);
    EXPECT_LE(counts.faster + counts.slower, bound) << weather.name;
    std::cout << weather.name << ": " << counts.faster << " faster, " << counts.slower
              << " slower of " << kComparisons << " at a rate of " << kRate << "\n";
  }
}

// With the margin, and the rate of one line of four: what a quick run does.
TEST(EqualKernels, AreNeverCalledDifferentUnderTheStatedPolicy) {
  for (const Weather& weather : AllWeathers()) {
    const double margin = MarginOf(weather.time_ns, weather.tick_ns);
    const Counts counts = Simulate(weather, 1, 1000, kComparisonErrorRate / 4, margin);
    EXPECT_LE(counts.faster + counts.slower, 1000 * kComparisonErrorRate) << weather.name;
  }
}

// The worst that is not faster: exactly at the margin.
TEST(KernelsAtTheMargin, AreCalledFasterNoMoreOftenThanStated) {
  const Counts counts = Simulate(AllWeathers()[0], 0.99, 4000, 0.02, 0.01);
  EXPECT_LE(counts.faster, 4000 * 0.02);
}

TEST(ThreePercent, IsSeenInCalmWeatherAndNeverTakenForItsOpposite) {
  for (const Weather& weather : AllWeathers()) {
    const double margin = MarginOf(weather.time_ns, weather.tick_ns);
    const Counts counts = Simulate(weather, 0.97, 500, kComparisonErrorRate / 4, margin);
    std::cout << weather.name << ": 3 % less is faster in " << counts.faster << ", undecided in "
              << counts.undecided << ", same in " << counts.same << " of 500 (margin " << margin
              << ")\n";
    EXPECT_EQ(counts.slower, 0) << weather.name;
  }
  EXPECT_GE(Simulate(AllWeathers()[0], 0.97, 500, kComparisonErrorRate / 4, 0.01).faster, 475);
}

TEST(BlockLogRatio, IsBlindToADriftThatIsLinearOverTheBlock) {
  // Times 100, 101, ... in the order first, second, second, first, as logarithms.
  std::array<BlockHalf, 2> halves;
  const auto at = [](int step) { return std::exp(0.1 * step); };
  halves[0] = {.candidate = {at(0)}, .baseline = {at(1)}};
  halves[1] = {.candidate = {at(3)}, .baseline = {at(2)}};
  EXPECT_NEAR(BlockLogRatio(halves), 0, 1e-12);
}

TEST(BlockLogRatio, LeavesInterruptedCallsOut) {
  std::array<BlockHalf, 2> halves;
  for (BlockHalf& half : halves) half = {.candidate = {9, 9, 9, 900}, .baseline = {10, 10, 10, 10}};
  EXPECT_NEAR(BlockLogRatio(halves), std::log(0.9), 1e-12);
}

TEST(PlanBlocks, MakesRoomForAnyNumberOfComparisons) {
  for (const double lines : {1.0, 4.0, 57.0, 1000.0}) {
    for (const Effort effort : {Effort::kQuick, Effort::kFull}) {
      const BlockPlan plan = PlanBlocks(effort, kComparisonErrorRate / lines);
      const Against against =
          Weigh(std::vector<double>(plan.first_look, -1.0), plan.look_error_rate, 0.01);
      EXPECT_EQ(against.standing, Standing::kFaster) << lines;
    }
  }
}

TEST(Weigh, SaysThatBlocksAreTooFewInsteadOfGuessing) {
  const Against against = Weigh(std::vector<double>(5, -1.0), 0.001, 0.01);
  EXPECT_EQ(against.standing, Standing::kUndecided);
  EXPECT_FALSE(against.ratio);
  EXPECT_THAT(against.reason, testing::HasSubstr("too few"));
}

TEST(MarginOf, GrowsWhereTheClockIsCoarse) {
  EXPECT_EQ(MarginOf(1e6, 32), kEquivalenceMargin);
  EXPECT_DOUBLE_EQ(MarginOf(2000, 32), 0.032);
  EXPECT_EQ(MarginOf(10, 32), 0.5);
}

}  // namespace
}  // namespace roofmark::gate
