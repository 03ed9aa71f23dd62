// SPDX-License-Identifier: Apache-2.0
#include "gate/timing.h"

#include "base/stats.h"
#include "base/testing.h"
#include "gate/session.h"

namespace roofmark::gate {
namespace {

// A stopwatch that measures nothing and says about the clocks what the test wants.
class ScriptedStopwatch final : public Stopwatch {
 public:
  Result<worker::Answer<void>> Prepare(worker::Worker&, const Provenance&) override {
    return worker::Answer<void>();
  }
  Result<worker::Answer<BatchTimes>> Time(worker::Worker&, std::span<const TimedCall>,
                                          const std::string&, double) override {
    return worker::Answer<BatchTimes>(BatchTimes{});
  }
  std::string ClockFault(const Clocks&, double) const override { return fault; }

  std::string fault;
};

BatchTimes Batch(const std::vector<double>& times, Owner owner) {
  BatchTimes batch{.time_ns = times, .device_ns = times, .event_ns = times, .host_ns = times};
  batch.owner_ns[static_cast<size_t>(owner)] = 1000;
  batch.kernels = {"a kernel"};
  return batch;
}

class ConcludeTest : public testing::Test {
 protected:
  Verdict Conclusion(const Timing& timing, const Sol& sol = {}, Role role = Role::kCandidate) {
    Candidate candidate{.name = "x.cc", .role = role};
    auto contestant = Contestant::Make(candidate, op_, device_);
    EXPECT_THAT(contestant, IsOk());
    (*contestant)->StartVerdict(workload_);
    Conclude(timing, sol, stopwatch_, {}, contestant->get());
    return (*contestant)->verdict;
  }

  static Timing Steady(Owner owner = Owner::kOwn) {
    Timing timing;
    timing.Add(Batch(std::vector<double>(40, 1000), owner));
    return timing;
  }

  Operator op_{.name = "op"};
  Workload workload_{.op = &op_, .shape = {.id = "s"}};
  device::DeviceInfo device_;
  ScriptedStopwatch stopwatch_;
};

TEST_F(ConcludeTest, OperandsThatWereWarmRefuseAndColdOnesAreReported) {
  Timing timing = Steady();
  timing.coldness = {.sampled = 100, .warm = 2, .misses = 100, .batches = 2};
  timing.Settle();
  EXPECT_THAT(Conclusion(timing).level, testing::HasSubstr("2 of 100 sampled lines"));
  EXPECT_EQ(Conclusion(timing).outcome, Outcome::kPassed);
  timing.coldness.warm = 60;
  timing.Settle();
  const Verdict verdict = Conclusion(timing);
  EXPECT_EQ(verdict.outcome, Outcome::kUnsynchronised);
  EXPECT_THAT(verdict.reason, testing::HasSubstr("60 of 100 sampled lines"));
}

TEST_F(ConcludeTest, ACallThatWorksForTheOthersRefuses) {
  Timing timing = Steady();
  const std::vector<double> times = {30'000, 1000, 1000, 1000, 1000, 1000};
  for (int i = 0; i < 6; ++i) timing.uneven.Add(times, {0, 1, 2, 3, 4, 5});
  timing.Settle();
  EXPECT_EQ(Conclusion(timing).outcome, Outcome::kUnsynchronised);
}

TEST_F(ConcludeTest, AFirstCallThatMayFetchItsCodeMakesTheMeanTheTime) {
  Timing timing = Steady();
  const std::vector<double> times = {7'000, 1000, 1000, 1000, 1000, 1000};
  for (int i = 0; i < 6; ++i) timing.uneven.Add(times, {0, 1, 2, 3, 4, 5});
  timing.Settle();
  const Verdict verdict = Conclusion(timing);
  EXPECT_EQ(verdict.outcome, Outcome::kPassed);
  EXPECT_DOUBLE_EQ(verdict.time_ns->median, 2000);
  EXPECT_DOUBLE_EQ(verdict.clocks->device.median, 2000);
  EXPECT_THAT(verdict.level, testing::HasSubstr("times are means of batches"));
}

TEST_F(ConcludeTest, PassesAStableTimeAndComputesAttainment) {
  const Verdict verdict = Conclusion(Steady(), {.ns = 500, .against = "datasheet"});
  EXPECT_EQ(verdict.outcome, Outcome::kPassed);
  EXPECT_DOUBLE_EQ(verdict.attainment->median, 0.5);
  EXPECT_EQ(verdict.attainment_against, "datasheet");
}

TEST_F(ConcludeTest, ATimeOfNothingIsNoTime) {
  Timing timing;
  timing.Add(Batch(std::vector<double>(40, 0), Owner::kOwn));
  const Verdict verdict = Conclusion(timing, {.ns = 500, .against = "datasheet"});
  EXPECT_EQ(verdict.outcome, Outcome::kClocksDisagree);
  EXPECT_FALSE(verdict.attainment.has_value());
  EXPECT_THAT(VerdictToJson(verdict, Samples::kOmit).Dump(),
              testing::HasSubstr("\"attainment\": null"));
}

TEST_F(ConcludeTest, MarksWhatIsNearTheLaunchFloor) {
  EXPECT_FALSE(Conclusion(Steady()).launch_bound) << "no floor is known";
  EXPECT_EQ(Conclusion(Steady(), {.floor_ns = 700}).launch_bound, false);
  EXPECT_EQ(Conclusion(Steady(), {.floor_ns = 800}).launch_bound, true);
  EXPECT_EQ(Conclusion(Steady(), {.ns = 500, .against = "measured", .floor_ns = 400}).launch_bound,
            true);
}

TEST_F(ConcludeTest, CallsAnUnstableTimeUnstableAndKeepsItsSamples) {
  Timing timing;
  std::vector<double> spread;
  for (int i = 0; i < 40; ++i) spread.push_back(i % 2 == 0 ? 1000 : 2000);
  timing.Add(Batch(spread, Owner::kOwn));
  const Verdict verdict = Conclusion(timing);
  EXPECT_EQ(verdict.outcome, Outcome::kUnstable);
  EXPECT_EQ(verdict.samples_ns.size(), 40U);
}

TEST_F(ConcludeTest, RefusesATimeUnderTheSpeedOfLight) {
  const Verdict verdict = Conclusion(Steady(), {.ns = 1100, .against = "datasheet"});
  EXPECT_EQ(verdict.outcome, Outcome::kFasterThanLight);
}

TEST_F(ConcludeTest, RefusesForeignKernelsInACandidateButNotInABaseline) {
  EXPECT_EQ(Conclusion(Steady(Owner::kVendor)).outcome, Outcome::kFallback);
  EXPECT_THAT(Conclusion(Steady(Owner::kVendor)).reason, testing::HasSubstr("a kernel"));
  EXPECT_EQ(Conclusion(Steady(Owner::kVendor), {}, Role::kBaseline).outcome, Outcome::kPassed);
}

TEST_F(ConcludeTest, SaysWhoseTheTimeIsAndWhatWasCalled) {
  Timing timing = Steady(Owner::kVendor);
  timing.called = {"torch.nn.functional.linear"};
  EXPECT_THAT(Conclusion(timing).reason,
              testing::AllOf(testing::HasSubstr("100.0 % of the time belongs to a vendor library"),
                             testing::HasSubstr("called: torch.nn.functional.linear")));
  EXPECT_THAT(Conclusion(Steady(Owner::kPrebuilt)).reason, testing::HasSubstr("brought along"));
}

TEST_F(ConcludeTest, RequiresAsMuchAdoptionAsItIsTold) {
  Timing timing = Steady();
  timing.owner_ns = {};
  timing.owner_ns[static_cast<size_t>(Owner::kOwn)] = 97;
  timing.owner_ns[static_cast<size_t>(Owner::kFramework)] = 3;
  timing.owner_ns[static_cast<size_t>(Owner::kRuntime)] = 1000;  // reported, not punished
  EXPECT_EQ(Conclusion(timing).outcome, Outcome::kPassed);
  EXPECT_TRUE(FellBack(timing, Role::kCandidate, 0.99));
  EXPECT_FALSE(FellBack(timing, Role::kBaseline, 0.99));
}

TEST_F(ConcludeTest, ACallThatOnlyCopiesHasNoAdoption) {
  EXPECT_EQ(Conclusion(Steady(Owner::kRuntime)).outcome, Outcome::kFallback);
}

TEST_F(ConcludeTest, WhatCouldNotBeMeasuredIsAbsentAndNotHeldAgainstAnyone) {
  Timing timing = Steady();
  timing.owner_ns = {};
  timing.level = "3 samples are too few";
  const Verdict verdict = Conclusion(timing);
  EXPECT_EQ(verdict.outcome, Outcome::kPassed);
  EXPECT_FALSE(verdict.shares.has_value());
}

TEST_F(ConcludeTest, WhatAWitnessRefutesIsAFallback) {
  Timing timing = Steady();
  timing.refuted = "something else computes them";
  const Verdict verdict = Conclusion(timing);
  EXPECT_EQ(verdict.outcome, Outcome::kFallback);
  EXPECT_EQ(verdict.reason, "something else computes them");
}

TEST_F(ConcludeTest, NamesTheEarliestFaultWhenThereAreSeveral) {
  Timing timing = Steady(Owner::kVendor);
  stopwatch_.fault = "the clocks disagree";
  EXPECT_EQ(Conclusion(timing).outcome, Outcome::kFallback);
  EXPECT_EQ(Conclusion(Steady()).outcome, Outcome::kClocksDisagree);
  timing.unsynchronised = "a kernel ran after the call";
  EXPECT_EQ(Conclusion(timing).outcome, Outcome::kUnsynchronised);
}

TEST(Enough, AsksForFullChecksWhateverTheInterval) {
  const TimingPlan plan = PlanFor(Effort::kFull, 0);
  Timing timing;
  timing.Add(Batch(std::vector<double>(40, 1000), Owner::kOwn));
  EXPECT_FALSE(Enough(timing, plan, ScriptedStopwatch()));
  timing.checked_in_full = plan.full_checks;
  EXPECT_TRUE(Enough(timing, plan, ScriptedStopwatch()));
}

TEST(Enough, GoesOnWhileTheIntervalIsWideAndTheBudgetLasts) {
  const TimingPlan plan = PlanFor(Effort::kFull, 0);
  Timing timing;
  std::vector<double> spread;
  for (int i = 0; i < 40; ++i) spread.push_back(1000 + i * 10);
  timing.Add(Batch(spread, Owner::kOwn));
  timing.checked_in_full = plan.full_checks;
  EXPECT_FALSE(Enough(timing, plan, ScriptedStopwatch()));
  timing.spent_s = plan.budget_s;
  EXPECT_TRUE(Enough(timing, plan, ScriptedStopwatch()));
}

TEST(Enough, EndsWhereTheIntervalIsOneStepOfTheMetersClock) {
  const TimingPlan plan = PlanFor(Effort::kFull, 0);
  const auto between = [&](double low, double high) {
    Timing timing;
    std::vector<double> times(20, low);
    times.resize(40, high);
    timing.Add(Batch(times, Owner::kOwn));
    timing.checked_in_full = plan.full_checks;
    return timing;
  };
  EXPECT_GT(32.0 / 1376, plan.target_width);
  EXPECT_TRUE(Enough(between(1376, 1408), plan, ScriptedStopwatch()));
  EXPECT_FALSE(Enough(between(1376, 1440), plan, ScriptedStopwatch()));
}

TEST(Enough, AsksForMoreOfTheJudgesClockBeforeItIsHeldAgainstAnyone) {
  const TimingPlan plan = PlanFor(Effort::kFull, 0);
  Timing timing;
  timing.Add(Batch(std::vector<double>(40, 1000), Owner::kOwn));
  timing.checked_in_full = plan.full_checks;
  ScriptedStopwatch stopwatch;
  stopwatch.fault = "the judge's clock reads more";
  timing.host_ns = {45'000, 143'000};
  EXPECT_FALSE(Enough(timing, plan, stopwatch));
  timing.spent_s = plan.budget_s;
  EXPECT_TRUE(Enough(timing, plan, stopwatch));
  timing.spent_s = 0;
  timing.host_ns.resize(12, 45'000);
  EXPECT_TRUE(Enough(timing, plan, stopwatch));
  timing.host_ns.resize(2);
  EXPECT_TRUE(Enough(timing, plan, ScriptedStopwatch()));
}

TEST(Enough, AsksForANarrowerIntervalAboveTenMicroseconds) {
  const TimingPlan plan = PlanFor(Effort::kFull, 0);
  const auto with_median = [&](double ns) {
    Timing timing;
    std::vector<double> spread;
    for (int i = -100; i <= 100; ++i) spread.push_back(ns * (1 + i * 1e-3));
    timing.Add(Batch(spread, Owner::kOwn));
    timing.checked_in_full = plan.full_checks;
    const double width = MedianInterval(spread).RelativeWidth();
    EXPECT_LT(width, 0.04);
    return timing;
  };
  // Between the two widths: enough for a short kernel, and not for a longer one.
  TimingPlan between = plan;
  between.target_width = 0.04;
  EXPECT_TRUE(Enough(with_median(9'000), between, ScriptedStopwatch()));
  EXPECT_FALSE(Enough(with_median(11'000), between, ScriptedStopwatch()));
  EXPECT_LT(plan.fine_width, plan.target_width);
}

TEST(PlanFor, AsksForFewerSamplesWhereTheReferenceIsDearButNeverForTooFew) {
  const TimingPlan cheap = PlanFor(Effort::kFull, 0.001);
  EXPECT_EQ(cheap.min_samples, PlanFor(Effort::kFull, 0).min_samples);
  const TimingPlan dearer = PlanFor(Effort::kFull, 0.03);
  EXPECT_LT(dearer.min_samples, cheap.min_samples);
  const TimingPlan dearest = PlanFor(Effort::kFull, 10);
  EXPECT_EQ(dearest.min_samples, 10U);
  EXPECT_EQ(dearest.full_checks, 4);
  const std::vector<double> samples = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  EXPECT_GT(MedianInterval(samples).low, 1);
}

TEST(Enough, StopsAWideSampleOnceTheReferenceHasHadItsTime) {
  const TimingPlan plan = PlanFor(Effort::kFull, 1);
  Timing timing;
  std::vector<double> spread;
  for (int i = 0; i < 10; ++i) spread.push_back(1000 + i * 100);
  timing.Add(Batch(spread, Owner::kOwn));
  timing.checked_in_full = plan.full_checks;
  EXPECT_FALSE(Enough(timing, plan, ScriptedStopwatch()));
  timing.reference_s = plan.reference_s;
  EXPECT_TRUE(Enough(timing, plan, ScriptedStopwatch()));
}

TEST(SlotCount, OperandsOfMoreThanFourCachesAreNotRotated) {
  Workload workload;
  workload.inputs = {{.name = "x", .dtype = DType::kU8, .sizes = {int64_t{1} << 30}}};
  workload.outputs = {{.name = "y", .dtype = DType::kU8, .sizes = {int64_t{1} << 30}}};
  device::DeviceInfo device{.cache_bytes = 60 << 20, .memory_bytes = int64_t{100} << 30};
  EXPECT_EQ(SlotCount(workload, device, 1), 2U);
  device.cache_bytes = int64_t{1} << 30;
  EXPECT_GE(SlotCount(workload, device, 1), 3U);
}

TEST(SlotCount, RotatesOverMoreThanTwiceTheCacheWithinMemory) {
  Workload workload;
  workload.inputs = {{.name = "x", .dtype = DType::kU8, .sizes = {8 << 20}}};
  workload.outputs = {{.name = "y", .dtype = DType::kU8, .sizes = {8 << 20}}};
  device::DeviceInfo device{.cache_bytes = 60 << 20, .memory_bytes = int64_t{100} << 30};
  const size_t slots = SlotCount(workload, device, 1);
  EXPECT_GT(slots * (16 << 20), size_t{120} << 20);
  device.memory_bytes = 200 << 20;
  EXPECT_LT(SlotCount(workload, device, 1), slots);
  device.memory_bytes = 30 << 20;
  EXPECT_EQ(SlotCount(workload, device, 1), 0U);
}

TEST(SlotCount, WarmOperandsDoNotCountForTheRotation) {
  Workload workload;
  workload.inputs = {{.name = "x", .dtype = DType::kU8, .sizes = {8 << 20}},
                     {.name = "w", .dtype = DType::kU8, .sizes = {32 << 20}}};
  workload.outputs = {{.name = "y", .dtype = DType::kU8, .sizes = {8 << 20}}};
  const device::DeviceInfo device{.cache_bytes = 60 << 20, .memory_bytes = int64_t{100} << 30};
  const size_t cold = SlotCount(workload, device, 1);
  workload.inputs[1].residency = Residency::kWarm;
  const size_t warm = SlotCount(workload, device, 1);
  EXPECT_GT(warm, cold);
  EXPECT_GT(warm * (16 << 20), size_t{120} << 20);
}

TEST(ArenaMemory, CountsInputsOutputsOfEachContestantAndOneSetOfExpectedOutputs) {
  Workload workload;
  workload.inputs = {{.name = "x", .dtype = DType::kU8, .sizes = {100 << 20}}};
  workload.outputs = {{.name = "y", .dtype = DType::kU8, .sizes = {50 << 20}}};
  const ArenaMemory memory = MemoryOf(workload, 2, 3, int64_t{2} << 20);
  EXPECT_EQ(memory.tensors, (int64_t{2} * 100 + 7 * 50) << 20);
  EXPECT_GT(memory.held, memory.tensors);
  EXPECT_LE(memory.held, memory.tensors + memory.tensors / 20);
}

}  // namespace
}  // namespace roofmark::gate
