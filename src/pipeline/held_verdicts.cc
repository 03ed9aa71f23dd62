// SPDX-License-Identifier: Apache-2.0
#include "pipeline/held_verdicts.h"

#include <utility>

#include "gate/comparison.h"

namespace roofmark::pipeline {

void HeldVerdicts::Add(std::vector<Verdict> verdicts, std::vector<Awaited> awaited,
                       std::optional<size_t> baseline, size_t done) {
  held_.push_back({.verdicts = std::move(verdicts),
                   .awaited = std::move(awaited),
                   .baseline = baseline,
                   .done = done});
}

bool HeldVerdicts::Settle(gate::Patience patience, Held* held) {
  bool settled = true;
  for (size_t i = 0; i < held->verdicts.size(); ++i) {
    Awaited& awaited = held->awaited[i];
    if (awaited.code.empty()) continue;
    if (gate::SettleVerdict(awaited.code, patience, *awaited.by, &held->verdicts[i])) {
      awaited = {};
    } else {
      settled = false;
    }
  }
  return settled;
}

Result<void> HeldVerdicts::PassOn(gate::Patience patience) {
  while (!held_.empty() && Settle(patience, &held_.front())) {
    Held ready = std::move(held_.front());
    held_.pop_front();
    if (ready.baseline) gate::ExplainMissingComparisons(*ready.baseline, &ready.verdicts);
    for (const Verdict& verdict : ready.verdicts) TRY(sink_(verdict, ready.done, total_));
  }
  return {};
}

}  // namespace roofmark::pipeline
