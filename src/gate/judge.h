// SPDX-License-Identifier: Apache-2.0
// The three gates in order of cost: compile, correctness, performance. The first that refuses ends
// the workload for that contestant; the others go on. Every contestant gets exactly one verdict per
// workload, and nothing unmeasured counts as passed.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "gate/contestant.h"
#include "gate/reference.h"
#include "gate/stopwatch.h"
#include "model/verdict.h"
#include "model/workload.h"

namespace roofmark::gate {

enum class Effort { kQuick, kFull };

struct JudgeOptions {
  Gate last_gate = Gate::kPerformance;
  Effort effort = Effort::kFull;
  // Least adoption of a candidate (baselines are exempt).
  double require_adoption = 0.95;
  std::filesystem::path dump_dir;  // empty = no dumps
  // Whom the others are compared with, a contestant of the call; null = no comparisons.
  const Contestant* baseline = nullptr;
  // The error rate of each comparison (paired_blocks.h): the run's, divided by how many it makes.
  double line_error_rate = 0;
  // Whether JudgeWorkload waits for what makes candidates' code again. Who sets it to false has
  // verdicts that SettleVerdict (recompile.h) has to complete with each contestant's `code`.
  bool settle = true;
  // Whether those that passed are also asked whether they are fit for serving (fitness.h).
  bool check_fitness = false;
  // Whether candidates that are right also make a call under compute-sanitizer (sanitize.h).
  bool sanitize = false;
  // Sessions whose secret is known already, by shape id: judge --regrade alone sets it.
  std::map<std::string, std::string> secrets;
  // Limit of one call. Honest calls on published shapes take well under a second.
  double call_timeout_s = 20;
};

// SOL time of a workload on the device and what it is against; 0 where no ceilings are known.
struct Sol {
  double ns = 0;
  std::string against;  // "datasheet" or "measured"
  double floor_ns = 0;  // the device's launch floor; 0 where none is known
};

struct Bench {
  device::Device& device;
  Reference& reference;
  Stopwatch& stopwatch;
};

// Judges all contestants on one workload. Errors are the machine's or the operator's.
Result<std::vector<Verdict>> JudgeWorkload(const Workload& workload, const Sol& sol,
                                           const std::vector<Contestant*>& contestants,
                                           const Bench& bench, const JudgeOptions& options);

}  // namespace roofmark::gate
