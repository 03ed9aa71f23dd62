// SPDX-License-Identifier: Apache-2.0
#include "gate/correctness.h"

#include <algorithm>
#include <iterator>
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
Result<std::vector<std::string>> Regimes(Effort effort, Session& session) {
  if (effort == Effort::kQuick) return std::vector<std::string>{"typical", "heavy_tail"};
  std::vector<std::string> regimes = {"typical", "heavy_tail", "offset"};
  if (HasDenormals(session.workload())) regimes.emplace_back("denormals");
  std::ranges::move(TRY(session.OwnRegimes()), std::back_inserter(regimes));
  regimes.emplace_back("typical");
  return regimes;
}

}  // namespace

Result<void> RunCorrectness(Session& session, std::vector<Contestant*> contestants,
                            Stopwatch& stopwatch, const JudgeOptions& options) {
  std::map<const Contestant*, SeenOutputs> seen;
  size_t trial = 0;
  size_t slot = 0;
  const std::vector<std::string> regimes = TRY(Regimes(options.effort, session));
  for (const std::string& regime : regimes) {
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
