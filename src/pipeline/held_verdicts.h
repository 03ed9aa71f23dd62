// SPDX-License-Identifier: Apache-2.0
// Verdicts that wait until their candidates' code was compiled again (gate/recompile.h). They are
// passed on in the order in which they came, each as soon as it and those before it are settled, so
// that the next workloads, and the next candidates, are judged meanwhile.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gate/recompile.h"
#include "model/verdict.h"
#include "pipeline/evaluate.h"

namespace roofmark::pipeline {

class HeldVerdicts {
 public:
  // Of `total` workloads. The sink must outlive it.
  HeldVerdicts(const VerdictSink& sink, size_t total) : sink_(sink), total_(total) {}

  // The code objects that one verdict waits for, and whose compiler makes them again.
  struct Awaited {
    std::vector<std::string> code;
    std::shared_ptr<gate::Recompiler> by;  // null where there is no code
  };
  // Those of one workload, one `awaited` for each; `baseline` is an index into them.
  void Add(std::vector<Verdict> verdicts, std::vector<Awaited> awaited,
           std::optional<size_t> baseline, size_t done);

  // Passes on what is settled; all of it where there is patience. Errors: the sink's.
  Result<void> PassOn(gate::Patience patience);

 private:
  struct Held {
    std::vector<Verdict> verdicts;
    std::vector<Awaited> awaited;
    std::optional<size_t> baseline;
    size_t done = 0;
  };
  static bool Settle(gate::Patience patience, Held* held);

  const VerdictSink& sink_;
  size_t total_;
  std::deque<Held> held_;
};

}  // namespace roofmark::pipeline
