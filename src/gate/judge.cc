// SPDX-License-Identifier: Apache-2.0
#include "gate/judge.h"

#include <algorithm>

#include "base/check.h"
#include "gate/comparison.h"
#include "gate/correctness.h"
#include "gate/evidence.h"
#include "gate/fitness.h"
#include "gate/performance.h"
#include "gate/recompile.h"
#include "gate/sanitize.h"
#include "gate/session.h"

namespace roofmark::gate {
namespace {

std::vector<Contestant*> Undecided(const std::vector<Contestant*>& contestants) {
  std::vector<Contestant*> left;
  std::ranges::copy_if(contestants, std::back_inserter(left),
                       [](const Contestant* contestant) { return !contestant->decided(); });
  return left;
}

Result<void> RunGates(Session& session, const Sol& sol, const std::vector<Contestant*>& contestants,
                      const Bench& bench, const JudgeOptions& options) {
  const std::vector<const device::Arena*> inputs = std::as_const(session).inputs();
  for (Contestant* contestant : Undecided(contestants)) {
    if (!TRY(contestant->Begin(session.workload(), bench.device, inputs, options.call_timeout_s)))
      continue;
    if (options.last_gate == Gate::kCompile)
      contestant->Refuse(Gate::kCompile, Outcome::kPassed, "");
  }
  // From here every undecided contestant has a live worker with this workload's arenas.
  if (options.last_gate == Gate::kCompile) return {};
  TRY(RunCorrectness(session, Undecided(contestants), bench.stopwatch, options));
  const SanitizerNotes notes = TRY(RunSanitizer(session, Undecided(contestants), options));
  for (Contestant* contestant : Undecided(contestants)) {
    if (options.last_gate == Gate::kCorrectness) {
      contestant->Refuse(Gate::kCorrectness, Outcome::kPassed, "");
    }
  }
  // From here every undecided contestant was right on all regimes.
  TRY(RunPerformance(session, sol, Undecided(contestants), bench, options));
  TRY(RunComparisons(session, contestants, bench, options));
  TRY(RunFitness(session, contestants, options));
  for (const auto& [contestant, note] : notes) contestant->verdict.level += "; " + note;
  return {};
}

}  // namespace

Result<std::vector<Verdict>> JudgeWorkload(const Workload& workload, const Sol& sol,
                                           const std::vector<Contestant*>& contestants,
                                           const Bench& bench, const JudgeOptions& options) {
  for (Contestant* contestant : contestants) contestant->StartVerdict(workload);
  std::string secret;
  if (const size_t playing = Undecided(contestants).size(); playing > 0) {
    const std::unique_ptr<Session> session =
        TRY(Session::Open(workload, bench.device, bench.reference, playing));
    if (const auto known = options.secrets.find(workload.shape.id);
        known != options.secrets.end()) {
      session->Replay(known->second);
    }
    secret = session->secret();
    const Result<void> ran = RunGates(*session, sol, contestants, bench, options);
    // Arenas go back even after an error, so that the next workload starts clean.
    for (Contestant* contestant : contestants) TRY(contestant->End());
    TRY(session->Close());
    if (!ran) return std::unexpected(ran.error());
  }
  std::vector<Verdict> verdicts;
  for (Contestant* contestant : contestants) {
    CHECK(contestant->decided());
    verdicts.push_back(contestant->verdict);
    // Nobody draws from the secret any more.
    AddCircumstances(workload, bench.device.info().kind, sol, options, secret,
                     &verdicts.back().evidence);
    if (options.settle && !contestant->code.empty()) {
      SettleVerdict(contestant->code, Patience::kWait, *contestant->recompiler(), &verdicts.back());
    }
  }
  return verdicts;
}

}  // namespace roofmark::gate
