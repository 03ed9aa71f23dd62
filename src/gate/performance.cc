// SPDX-License-Identifier: Apache-2.0
#include "gate/performance.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <optional>

#include "base/elapsed.h"
#include "base/hash.h"
#include "gate/evidence.h"
#include "gate/output_check.h"
#include "gate/timing.h"
#include "gate/witnesses.h"
#include "worker/code_pages.h"

namespace roofmark::gate {
namespace {

using Clock = std::chrono::steady_clock;

void Shuffle(auto* items, Random* random) {
  for (size_t i = items->size(); i > 1; --i) std::swap((*items)[i - 1], (*items)[random->Below(i)]);
}

struct Round {
  std::vector<size_t> order;   // of slots
  std::vector<size_t> chosen;  // slots whose calls are compared in full; secret
};

// Choices come from the system's generator: a candidate that could guess them would only have to be
// right there.
Round DrawRound(size_t slots, Random* random) {
  Round round;
  round.order.resize(slots);
  std::iota(round.order.begin(), round.order.end(), size_t{0});
  Shuffle(&round.order, random);
  round.chosen = round.order;
  Shuffle(&round.chosen, random);
  const auto share = static_cast<size_t>(kCheckedShare * static_cast<double>(slots));
  round.chosen.resize(std::clamp<size_t>(share, 1, kMostChecksARound));
  return round;
}

enum class Record { kWarmUp, kSamples };

// With fewer slots than this, the places of a few outputs would be the verdict's.
constexpr size_t kPlacesEnough = 8;
// Outputs move after every so many rounds: moving them costs as much as calling.
constexpr size_t kRoundsAPlace = 4;

// Looking takes milliseconds where much is loaded, so it is done now and then.
constexpr uint64_t kBatchesALook = 8;

// Whether somebody wrote over code in the contestant's process, where its clocks are read.
bool CodeWasChanged(Contestant& contestant, Record record, Random* random) {
  if (record == Record::kSamples && random->Below(kBatchesALook) != 0) return false;
  const std::optional<pid_t> pid = contestant.worker_pid();
  const std::string changed = pid ? worker::ChangedCode(*pid) : "";
  if (changed.empty()) return false;
  contestant.Refuse(Gate::kPerformance, Outcome::kClocksDisagree,
                    fmt::format("the code of {} was written over in the candidate's process: no "
                                "clock there can be believed",
                                changed));
  return true;
}

// One contestant's batch: poison, timed calls, safety checks of every slot. False when it failed.
Result<bool> RunBatch(Session& session, Contestant& contestant, const Round& round, Record record,
                      const Bench& bench, Random* random, Timing* timing) {
  for (const size_t slot : round.order) TRY(PrepareSlot(session, contestant, slot));
  BatchTimes times;
  // What happens while nothing counts is not worth a word: clocks rise during the warm-up.
  if (record == Record::kSamples) bench.stopwatch.Observe(timing->device_clocks);
  const Clock::time_point begin = Clock::now();
  if (!TRY(contestant.Time(bench.stopwatch, round.order, session.inputs(), &times))) return false;
  timing->spent_s += SecondsSince(begin);
  if (CodeWasChanged(contestant, record, random)) return false;
  if (record == Record::kSamples) bench.stopwatch.Observe(timing->device_clocks);
  for (const size_t slot : round.order) {
    // Slots may have equal inputs in the warm-up, and equal outputs then.
    SeenOutputs alone;
    SeenOutputs* const seen = record == Record::kSamples ? &timing->seen : &alone;
    if (!TRY(CheckSafety(session, contestant, slot, Gate::kPerformance, seen))) return false;
  }
  if (record == Record::kSamples) {
    timing->Add(times);
    // On a CPU each call's inputs exist only from right before it on: nobody can work ahead.
    if (session.device().info().kind == DeviceKind::kCuda) {
      timing->uneven.Add(times.time_ns, round.order);
    }
  }
  return true;
}

// What repeating left in a slot will do for a warm-up.
std::vector<size_t> SlotsToFill(const Session& session, Record record) {
  std::vector<size_t> slots;
  for (size_t slot = 0; slot < session.slots(); ++slot) {
    if (record == Record::kWarmUp && session.regime(slot) == "typical") continue;
    slots.push_back(slot);
  }
  return slots;
}

// Compares the chosen calls of all contestants that are still in.
Result<void> CheckChosen(Session& session, const std::vector<Contestant*>& contestants,
                         const Round& round, const JudgeOptions& options,
                         std::map<Contestant*, Timing>* timings) {
  for (const size_t slot : round.chosen) {
    TRY(session.Expect(slot));
    for (Contestant* contestant : contestants) {
      if (contestant->decided()) continue;
      if (TRY(CheckValues(session, *contestant, slot, Gate::kPerformance,
                          {.dump_dir = options.dump_dir}))) {
        ++(*timings)[contestant].checked_in_full;
      }
    }
  }
  return {};
}

void LeaveOutDecided(std::vector<Contestant*>* contestants) {
  std::erase_if(*contestants, [](const Contestant* contestant) { return contestant->decided(); });
}

// Where few outputs are written in turn, they move: their places in memory shift the time of a
// kernel by up to a percent on an H200, and those of another process are others.
Result<void> MoveNowAndThen(Session& session, size_t rounds,
                            std::vector<Contestant*>* contestants) {
  const bool moves = session.device().info().kind == DeviceKind::kCuda &&
                     session.slots() < kPlacesEnough && rounds % kRoundsAPlace == 0;
  if (!moves) return {};
  for (Contestant* contestant : *contestants) TRY(contestant->MoveOutputs(session.device()));
  LeaveOutDecided(contestants);
  return {};
}

}  // namespace

Result<void> RunPerformance(Session& session, const Sol& sol, std::vector<Contestant*> contestants,
                            const Bench& bench, const JudgeOptions& options) {
  const TimingPlan plan =
      PlanFor(options.effort, session.refill_s() + kCheckedShare * session.expect_s());
  Random random(static_cast<uint64_t>(RandomSeed()));
  std::map<Contestant*, Timing> timings;
  const std::vector<Contestant*> all = contestants;
  size_t rounds = 0;
  for (Record record = Record::kWarmUp; !contestants.empty(); record = Record::kSamples) {
    for (Contestant* contestant : contestants) contestant->Quiet(bench.stopwatch);
    TRY(session.Refill(SlotsToFill(session, record), "typical"));
    const Round round = DrawRound(session.slots(), &random);
    Shuffle(&contestants, &random);
    for (Contestant* contestant : contestants) {
      TRY(RunBatch(session, *contestant, round, record, bench, &random, &timings[contestant]));
    }
    LeaveOutDecided(&contestants);
    if (record == Record::kWarmUp) {
      for (auto& [contestant, timing] : timings) timing.spent_s = 0;
      continue;
    }
    const double reference_s = static_cast<double>(session.slots()) * session.refill_s() +
                               static_cast<double>(round.chosen.size()) * session.expect_s();
    for (auto& [contestant, timing] : timings) timing.reference_s += reference_s;
    // The outputs of the timed calls are still there: nothing ran since. Only then may the calls be
    // made again to see who runs.
    TRY(CheckChosen(session, contestants, round, options, &timings));
    for (Contestant* contestant : contestants) {
      if (contestant->decided()) continue;
      BatchTimes who;
      if (!TRY(contestant->Attribute(bench.stopwatch, round.order, session.inputs(), &who))) {
        continue;
      }
      timings[contestant].Add(who);
      if (Enough(timings[contestant], plan, bench.stopwatch)) {
        if (FellBack(timings[contestant], contestant->verdict.role, options.require_adoption)) {
          timings[contestant].called = TRY(contestant->NameCalls(round.order.front()));
        } else {
          TRY(AskWitnesses(session, *contestant, options, &timings[contestant]));
        }
        timings[contestant].Settle();
        Conclude(timings[contestant], sol, bench.stopwatch, options, contestant);
        contestant->verdict.evidence =
            Json::MakeObject().Set("timing", TimingToJson(timings[contestant]));
      }
    }
    LeaveOutDecided(&contestants);
    TRY(MoveNowAndThen(session, ++rounds, &contestants));
  }
  for (Contestant* contestant : all) contestant->Wake(bench.stopwatch);
  return {};
}

}  // namespace roofmark::gate
