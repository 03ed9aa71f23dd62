// SPDX-License-Identifier: Apache-2.0
// The samples of one contestant on one workload, and what they amount to.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "gate/clock_log.h"
#include "gate/judge.h"
#include "gate/output_check.h"
#include "gate/stopwatch.h"
#include "gate/uneven.h"
#include "model/verdict.h"

namespace roofmark::gate {

struct Timing {
  std::vector<double> time_ns;
  std::vector<double> device_ns;
  std::vector<double> event_ns;
  std::vector<double> host_ns;
  Shares owner_ns{};
  std::vector<std::string> kernels;
  std::vector<std::string> called;    // BatchTimes::called
  std::vector<std::string> dsl_code;  // BatchTimes::dsl_code, of all batches
  std::string unsynchronised;
  // Why the candidate's code is not what computes, though by its provenance it is (witnesses.h).
  std::string refuted;
  std::string level;
  std::string busy;  // BatchTimes::busy
  Coldness coldness;
  Uneven uneven;
  std::string cold_level;  // ColdnessText
  ClockLog device_clocks;
  int checked_in_full = 0;
  double spent_s = 0;
  double reference_s = 0;  // of the rounds that gave samples; shared by all contestants
  SeenOutputs seen;

  void Add(const BatchTimes& times);
  // When sampling has ended: what the caches and the batches say goes into `unsynchronised` and
  // `cold_level`.
  void Settle();
};

// Times over this are asked to repeat within 1 %, shorter ones within 5 %: a tick of the device's
// clock, 32 ns, is a third of that here already.
inline constexpr double kFineNs = 10'000;

struct TimingPlan {
  size_t min_samples = 0;
  size_t max_samples = 0;
  double target_width = 0;  // relative width of the median's 95 % interval at which sampling ends
  double fine_width = 0;    // the same for times over kFineNs
  double budget_s = 0;      // of timed batches per contestant
  int full_checks = 0;      // timed calls that are compared in full, at least
  double reference_s = 0;   // of the reference, after which the least number of samples is enough
};
// Where the reference takes `sample_s` seconds to draw a timed call's inputs and to check it, fewer
// samples are asked for, never fewer than a median's 95 % interval needs.
TimingPlan PlanFor(Effort effort, double sample_s);

// Whether foreign code has the time of a candidate: its adoption is known, and under the required.
bool FellBack(const Timing& timing, Role role, double required);

// True when sampling can end: enough samples and full checks, and a narrow interval or no budget;
// and, where the clocks disagree, enough of the judge's own to be held against anyone.
bool Enough(const Timing& timing, const TimingPlan& plan, const Stopwatch& stopwatch);

// Relative width above which a result is called unstable instead of published as a number. The
// widest of an honest kernel on an H200 was 11 %: at half of the places in memory where its outputs
// came to lie it was that much slower (results/h200-2026-11-30, fused_moe/4).
inline constexpr double kUnstableWidth = 0.15;
// Of a round's calls this share is compared in full, and never more than so many.
inline constexpr double kCheckedShare = 0.5;
inline constexpr size_t kMostChecksARound = 4;

// Writes times, clocks, shares, attainment and the outcome into the contestant's verdict.
void Conclude(const Timing& timing, const Sol& sol, const Stopwatch& stopwatch,
              const JudgeOptions& options, Contestant* contestant);

}  // namespace roofmark::gate
