// SPDX-License-Identifier: Apache-2.0
#include "gate/timing.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace roofmark::gate {
namespace {

// A candidate that skips its work in every second call, which is what moves a median, passes four
// checks of calls that it cannot know once in sixteen, and is judged on many shapes.
constexpr int kLeastChecks = 4;
// The 95 % interval of a median leaves out the extremes from nine samples on.
constexpr size_t kLeastSamples = 10;
// What drawing and checking the least number of samples may take without being noticed.
constexpr double kCheapS = 0.15;

// The meter's clock moves in steps of 32 ns on an H200, give or take one: so far apart are the
// times of a short kernel (results/h200-2026-11-30/samples.jsonl.gz). An interval of one step is as
// narrow as any number of samples makes it.
constexpr double kTickNs = 33;

// Of fewer than six samples the least is no lower end of the median's interval at 95 %. On a GPU a
// batch is one sample of the judge's clock, and a disturbance of the machine can reach over
// several: two read 45 and 143 us for an honest call of 3.2 us, and the least of four quick ones 38
// us for one of 8 us, each once in some hundred workloads on an H200.
constexpr size_t kHostsThatTell = 12;

// SOL is a lower bound of what the contract needs, so a time under it means that a clock, a
// formula or a ceiling is wrong. Measured ceilings carry noise of their own, datasheet peaks round.
double LightSlack(const Sol& sol) {
  return sol.against == "measured" ? 1.10 : 1.02;
}

Interval AttainmentOf(const Interval& time, double sol_ns) {
  return {.median = sol_ns / time.median, .low = sol_ns / time.high, .high = sol_ns / time.low};
}

Interval OrZero(const std::vector<double>& samples) {
  return samples.empty() ? Interval{} : MedianInterval(samples);
}

Clocks ClocksOf(const Timing& timing) {
  return {.device = OrZero(timing.device_ns),
          .event = OrZero(timing.event_ns),
          .host = OrZero(timing.host_ns)};
}

Shares SharesOf(const Shares& owner_ns) {
  double total = 0;
  for (const double ns : owner_ns) total += ns;
  Shares shares{};
  for (size_t i = 0; i < shares.size() && total > 0; ++i) shares[i] = owner_ns[i] / total;
  return shares;
}

std::string_view InWords(Owner owner) {
  switch (owner) {
    case Owner::kOwn:
      return "code compiled from its own source";
    case Owner::kDsl:
      return "kernels compiled from its own source";
    case Owner::kVendor:
      return "a vendor library";
    case Owner::kFramework:
      return "the framework";
    case Owner::kCompiler:
      return "another compiler's kernels (inductor)";
    case Owner::kPrebuilt:
      return "a binary that the candidate brought along";
    case Owner::kRuntime:
      return "copies and fills of the runtime";
    case Owner::kUnknown:
      return "code of unknown origin";
  }
  return "";
}

std::string FallbackReason(const Timing& timing, const Shares& shares, double required) {
  std::string reason = fmt::format("adoption {:.1f} % is under the required {:.1f} %",
                                   100 * Adoption(shares), 100 * required);
  const auto largest = std::ranges::max_element(shares, [&](const double& a, const double& b) {
    const auto counts = [&](const double& share) {
      const auto owner = static_cast<Owner>(&share - shares.data());
      return owner == Owner::kOwn || owner == Owner::kDsl ? 0 : share;
    };
    return counts(a) < counts(b);
  });
  if (*largest > 0) {
    reason += fmt::format(": {:.1f} % of the time belongs to {}", 100 * *largest,
                          InWords(static_cast<Owner>(largest - shares.begin())));
  }
  const auto list = [&](std::string_view title, const std::vector<std::string>& all) {
    constexpr size_t kShown = 4;
    for (size_t i = 0; i < std::min(all.size(), kShown); ++i) {
      reason += fmt::format("{}{}", i == 0 ? title : "; ", all[i]);
    }
  };
  list("; ran: ", timing.kernels);
  list("; called: ", timing.called);
  return reason;
}

// The first fault in the order in which one explains the next.
std::pair<Outcome, std::string> FaultOf(const Timing& timing, const Sol& sol,
                                        const Stopwatch& stopwatch, const JudgeOptions& options,
                                        const Verdict& verdict) {
  if (!timing.unsynchronised.empty()) return {Outcome::kUnsynchronised, timing.unsynchronised};
  if (FellBack(timing, verdict.role, options.require_adoption)) {
    return {Outcome::kFallback,
            FallbackReason(timing, SharesOf(timing.owner_ns), options.require_adoption)};
  }
  if (!timing.refuted.empty()) return {Outcome::kFallback, timing.refuted};
  if (std::string fault = stopwatch.ClockFault(*verdict.clocks, verdict.time_ns->median);
      !fault.empty()) {
    return {Outcome::kClocksDisagree, std::move(fault)};
  }
  if (verdict.time_ns->low <= 0) {
    return {Outcome::kClocksDisagree, "by its meter, calls took no time at all"};
  }
  if (verdict.attainment && verdict.attainment->median > LightSlack(sol)) {
    return {Outcome::kFasterThanLight,
            fmt::format("{} is under the speed of light of {} ({} ceilings): a clock, a formula or "
                        "a ceiling is wrong",
                        HumanTime(verdict.time_ns->median), HumanTime(sol.ns), sol.against)};
  }
  if (verdict.time_ns->RelativeWidth() > kUnstableWidth) {
    return {Outcome::kUnstable,
            fmt::format("after {} samples the median is known to {:.1f} % only ({} to {})",
                        timing.time_ns.size(), 100 * verdict.time_ns->RelativeWidth(),
                        HumanTime(verdict.time_ns->low), HumanTime(verdict.time_ns->high))};
  }
  return {Outcome::kPassed, ""};
}

void Append(const std::vector<double>& from, std::vector<double>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

}  // namespace

Result<worker::Answer<BatchTimes>> Stopwatch::Attribute(worker::Worker& /*worker*/,
                                                        std::span<const TimedCall> /*calls*/,
                                                        const std::string& /*workspace*/,
                                                        double /*timeout_s*/) {
  return worker::Answer<BatchTimes>(BatchTimes{});
}

Result<worker::Answer<std::unique_ptr<Disturbance>>> Stopwatch::Disturb(
    worker::Worker& /*worker*/) {
  return worker::Answer<std::unique_ptr<Disturbance>>(nullptr);
}

void Timing::Add(const BatchTimes& times) {
  Append(times.time_ns, &time_ns);
  Append(times.device_ns, &device_ns);
  Append(times.event_ns, &event_ns);
  Append(times.host_ns, &host_ns);
  for (size_t i = 0; i < owner_ns.size(); ++i) owner_ns[i] += times.owner_ns[i];
  if (!times.kernels.empty()) kernels = times.kernels;
  if (!times.called.empty()) called = times.called;
  for (const std::string& code : times.dsl_code) {
    if (std::ranges::find(dsl_code, code) == dsl_code.end()) dsl_code.push_back(code);
  }
  if (unsynchronised.empty()) unsynchronised = times.unsynchronised;
  if (level.empty()) level = times.level;
  if (busy.empty()) busy = times.busy;
  coldness.Add(times.coldness);
}

void Timing::Settle() {
  if (unsynchronised.empty()) unsynchronised = WarmFault(coldness);
  if (unsynchronised.empty()) unsynchronised = uneven.Fault();
  cold_level = ColdnessText(coldness);
  if (!uneven.FetchesCode() && !uneven.Skewed()) return;
  time_ns = device_ns = uneven.means_ns();
  if (!cold_level.empty()) cold_level += "; ";
  cold_level += uneven.FetchesCode() ? uneven.CodeText() : uneven.SkewText();
}

bool FellBack(const Timing& timing, Role role, double required) {
  // Where the machine could not tell who ran (the level says so), nothing is held against anyone.
  const bool nothing_seen = timing.owner_ns == Shares{} && !timing.level.empty();
  return role == Role::kCandidate && !nothing_seen &&
         Adoption(SharesOf(timing.owner_ns)) < required;
}

TimingPlan PlanFor(Effort effort, double sample_s) {
  TimingPlan plan = effort == Effort::kQuick ? TimingPlan{.min_samples = 16,
                                                          .max_samples = 256,
                                                          .target_width = 0.05,
                                                          .fine_width = 0.05,
                                                          .budget_s = 1,
                                                          .full_checks = 8,
                                                          .reference_s = 2}
                                             : TimingPlan{.min_samples = 32,
                                                          .max_samples = 1024,
                                                          .target_width = 0.02,
                                                          .fine_width = 0.012,
                                                          .budget_s = 2,
                                                          .full_checks = 8,
                                                          .reference_s = 4};
  if (sample_s * static_cast<double>(plan.min_samples) <= kCheapS) return plan;
  const auto affordable = static_cast<size_t>(kCheapS / sample_s);
  plan.min_samples = std::clamp(affordable, kLeastSamples, plan.min_samples);
  plan.full_checks = std::clamp(static_cast<int>(plan.min_samples / 4), kLeastChecks, 8);
  return plan;
}

bool Enough(const Timing& timing, const TimingPlan& plan, const Stopwatch& stopwatch) {
  if (timing.checked_in_full < plan.full_checks) return false;
  const size_t samples = timing.time_ns.size();
  if (timing.uneven.Suspects() && samples < plan.max_samples) return false;
  if (samples >= plan.max_samples || timing.spent_s >= plan.budget_s) return true;
  if (samples < plan.min_samples) return false;
  const Interval interval = MedianInterval(timing.time_ns);
  if (timing.host_ns.size() < kHostsThatTell &&
      !stopwatch.ClockFault(ClocksOf(timing), interval.median).empty()) {
    return false;
  }
  if (timing.reference_s >= plan.reference_s) return true;
  if (interval.high - interval.low <= kTickNs) return true;
  return interval.RelativeWidth() <=
         (interval.median > kFineNs ? plan.fine_width : plan.target_width);
}

void Conclude(const Timing& timing, const Sol& sol, const Stopwatch& stopwatch,
              const JudgeOptions& options, Contestant* contestant) {
  Verdict& verdict = contestant->verdict;
  verdict.samples_ns = timing.time_ns;
  verdict.time_ns = MedianInterval(timing.time_ns);
  verdict.clocks = ClocksOf(timing);
  if (timing.owner_ns != Shares{}) verdict.shares = SharesOf(timing.owner_ns);
  verdict.kernels = timing.kernels;
  // A time of nothing is no time; FaultOf says whose fault that is.
  if (sol.ns > 0 && verdict.time_ns->low > 0) {
    verdict.attainment = AttainmentOf(*verdict.time_ns, sol.ns);
    verdict.attainment_against = sol.against;
  }
  if (sol.floor_ns > 0) {
    const double bound = kLaunchBound * sol.floor_ns;
    verdict.launch_bound = verdict.time_ns->median <= bound || (sol.ns > 0 && sol.ns <= bound);
  }
  auto [outcome, reason] = FaultOf(timing, sol, stopwatch, options, verdict);
  contestant->Refuse(Gate::kPerformance, outcome, std::move(reason));
  if (!timing.level.empty()) verdict.level += "; " + timing.level;
  if (!timing.busy.empty()) verdict.level += "; " + timing.busy;
  if (!timing.cold_level.empty()) verdict.level += "; " + timing.cold_level;
  if (const std::string told = timing.device_clocks.Text(); !told.empty()) {
    verdict.level += "; " + told;
  }
}

}  // namespace roofmark::gate
