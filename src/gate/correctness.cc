// SPDX-License-Identifier: Apache-2.0
#include "gate/correctness.h"

#include <algorithm>
#include <map>
#include <string>

#include "gate/output_check.h"
#include "gate/repetition.h"

namespace roofmark::gate {
namespace {

// Whether subnormal inputs tell right from wrong. Where an output is compared bit for bit, a kernel
// that flushes them, as fast-math does, may choose another of two tiny values; and what an imported
// problem does with them (a quotient, a logarithm) nobody has looked at.
bool HasDenormals(const Workload& workload) {
  const auto numeric = [](const auto& bound) { return bound.second.kind == CompareKind::kNumeric; };
  const auto wide = [](const Tensor& tensor) {
    return IsFloat(tensor.dtype) && DTypeBytes(tensor.dtype) > 1;
  };
  return workload.shape.tier != Tier::kImported &&
         std::ranges::all_of(workload.op->tolerance, numeric) &&
         std::ranges::any_of(workload.inputs, wide);
}

// The first regime comes twice: a cached answer is wrong by then, whatever its key.
std::vector<std::string> Regimes(Effort effort, const Workload& workload) {
  if (effort == Effort::kQuick) return {"typical", "heavy_tail"};
  if (!HasDenormals(workload)) return {"typical", "heavy_tail", "offset", "typical"};
  return {"typical", "heavy_tail", "offset", "denormals", "typical"};
}

}  // namespace

Result<void> RunCorrectness(Session& session, std::vector<Contestant*> contestants,
                            Stopwatch& stopwatch, const JudgeOptions& options) {
  std::map<const Contestant*, SeenOutputs> seen;
  size_t trial = 0;
  size_t slot = 0;
  for (const std::string& regime : Regimes(options.effort, session.workload())) {
    slot = trial++ % session.slots();
    TRY(session.Refill(slot, regime));
    // Candidates run before the expected outputs exist anywhere.
    std::vector<Contestant*> ran;
    for (Contestant* contestant : contestants) {
      TRY(PrepareSlot(session, *contestant, slot));
      if (!TRY(contestant->Call(slot))) continue;
      if (TRY(CheckSafety(session, *contestant, slot, Gate::kCorrectness, &seen[contestant]))) {
        ran.push_back(contestant);
      }
    }
    if (ran.empty()) return {};
    TRY(session.Expect(slot));
    contestants.clear();
    for (Contestant* contestant : ran) {
      if (TRY(CheckValues(session, *contestant, slot, Gate::kCorrectness,
                          {.dump_dir = options.dump_dir}))) {
        contestants.push_back(contestant);
      }
    }
  }
  return RepeatCalls(session, contestants, slot, stopwatch, options);
}

}  // namespace roofmark::gate
