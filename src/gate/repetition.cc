// SPDX-License-Identifier: Apache-2.0
#include "gate/repetition.h"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <set>

#include "base/elapsed.h"
#include "base/hash.h"
#include "gate/output_check.h"

namespace roofmark::gate {
namespace {

using Clock = std::chrono::steady_clock;

// A race that shows in one call of four escapes eight repetitions once in ten; one in two, never in
// practice. The first repetition is undisturbed: it alone says whether equal calls give equal bits
// on a quiet machine.
constexpr int kFullRepetitions = 8;
constexpr int kQuickRepetitions = 1;
// Slow candidates are repeated as often as this allows, at least once.
constexpr double kBudgetS = 4;

enum class Same { kBits, kWithin, kWrong };

// Compares this slot's outputs with those of `first`, and where their bits differ, with what is
// expected.
Result<Same> CompareWithFirst(Session& session, Contestant& contestant, size_t first, size_t slot,
                              Repetitions* seen) {
  const Tolerance same_bits = {.kind = CompareKind::kExact};
  Same same = Same::kBits;
  for (size_t place = 0; place < session.workload().outputs.size(); ++place) {
    const device::Comparison bits = TRY(session.device().Compare(
        contestant.output(slot), contestant.output(first), place, same_bits));
    if (bits.within) continue;
    same = Same::kWithin;
    const Tensor& tensor = session.workload().outputs[place];
    const device::Comparison found =
        TRY(CompareOutput(session.device(), contestant.output(slot), session.want(), place,
                          session.workload().op->tolerance.find(tensor.name)->second));
    const auto fault = FaultIn(found, tensor);
    if (!fault) continue;
    if (seen->first_fault.empty()) {
      seen->outcome = fault->first;
      seen->first_fault = fault->second;
    }
    return Same::kWrong;
  }
  return same;
}

// One more call. False when the contestant failed in it.
Result<bool> RepeatOnce(Session& session, Contestant& contestant, size_t first, size_t slot,
                        Stopwatch* disturber, Repetitions* seen) {
  TRY(PrepareSlot(session, contestant, slot));
  if (!TRY(contestant.CallDisturbed(slot, disturber))) {
    contestant.verdict.reason = fmt::format("in repetition {} with equal inputs: {}",
                                            seen->made + 1, contestant.verdict.reason);
    return false;
  }
  if (!TRY(CheckUntouched(session, contestant, slot, Gate::kCorrectness))) return false;
  const Same same = TRY(CompareWithFirst(session, contestant, first, slot, seen));
  ++seen->made;
  if (same != Same::kBits) ++seen->differing;
  if (same == Same::kWrong) ++seen->wrong;
  return true;
}

void Conclude(const Repetitions& seen, Contestant* contestant) {
  if (seen.made == 0 || contestant->decided()) return;
  contestant->verdict.deterministic = seen.differing == 0;
  if (seen.wrong > 0) contestant->Refuse(Gate::kCorrectness, seen.outcome, seen.Reason());
}

}  // namespace

std::string Repetitions::Reason() const {
  return fmt::format(
      "intermittent: {} of {} repetitions with equal inputs, at other addresses and on a busy "
      "machine, were wrong; first: {}",
      wrong, made, first_fault);
}

Result<void> RepeatCalls(Session& session, const std::vector<Contestant*>& contestants, size_t slot,
                         Stopwatch& stopwatch, const JudgeOptions& options) {
  const bool full = options.effort == Effort::kFull;
  const int wanted = full ? kFullRepetitions : kQuickRepetitions;
  std::map<Contestant*, Repetitions> seen;
  std::set<size_t> copied;
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < wanted; ++i) {
    if (i > 0 && SecondsSince(begin) > kBudgetS) break;
    // Every slot but the first's own, which keeps what the others are compared with.
    const size_t step = 1 + static_cast<size_t>(i) % (session.slots() - 1);
    const size_t other = (slot + step) % session.slots();
    if (copied.insert(other).second) TRY(session.CopyInputs(slot, other));
    for (Contestant* contestant : contestants) {
      if (contestant->decided()) continue;
      TRY(RepeatOnce(session, *contestant, slot, other, i == 0 ? nullptr : &stopwatch,
                     &seen[contestant]));
    }
  }
  for (auto& [contestant, repetitions] : seen) Conclude(repetitions, contestant);
  return {};
}

}  // namespace roofmark::gate
