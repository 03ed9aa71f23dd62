// SPDX-License-Identifier: Apache-2.0
// Admission tests of a whole suite: each workload's honest and wrong programs, on one device.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gate/admission.h"
#include "model/candidate.h"
#include "model/workload.h"

namespace roofmark::pipeline {

struct LintFinding {
  const Workload* workload = nullptr;
  std::optional<gate::Admission> admission;  // absent: not tried, or only its reference
  std::string left_out;                      // why not
  double seconds = 0;
};
using LintSink = std::function<void(const LintFinding&, size_t done, size_t total)>;

struct LintOptions {
  DeviceKind device = DeviceKind::kCpu;
  std::vector<std::string> regimes;  // empty: all three
  // Only draw inputs and compute the expected outputs, once a regime, and see that they are finite.
  bool references_only = false;
};

// Workloads that do not fit the device are left out, and said so.
// Errors: the machine's, and an operator's (a reference that fails, no admission programs).
Result<void> LintSuite(const std::vector<Workload>& workloads, const LintOptions& options,
                       const LintSink& sink);

// As AdmissionToJson, with `left_out` (text or null) and `seconds`; of references alone just those.
Json LintFindingToJson(const LintFinding& finding);

}  // namespace roofmark::pipeline
