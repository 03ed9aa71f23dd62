// SPDX-License-Identifier: Apache-2.0
// What a verdict has to keep so that it can be reproduced without its machine: what it was judged
// under, the secret of its inputs, and the raw measurements. Verdict::evidence holds it as JSON:
//   gate, effort, require_adoption, call_timeout_s   the options of the judge
//   device_kind, sol {ns, against, floor_ns}         where, and the bound that it was held against
//   secret                                           of the session; "" where none was opened
//   operator_files                                   the operator's folder; the store makes it the
//                                                    hash under which it archived the folder
//   timing {device_ns, event_ns, host_ns, owner_ns, unsynchronised, level}
//                                                    the raw measurements beside samples_ns; absent
//                                                    where no timing came to its end
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "gate/judge.h"
#include "gate/timing.h"
#include "model/verdict.h"
#include "model/workload.h"

namespace roofmark::gate {

// Without time_ns, which the verdict keeps as samples_ns.
Json TimingToJson(const Timing& timing);

// Adds everything but the timing. `evidence` is an object or null, and is an object afterwards.
void AddCircumstances(const Workload& workload, DeviceKind device, const Sol& sol,
                      const JudgeOptions& options, const std::string& secret, Json* evidence);

// What a verdict was judged under. Errors: kInput for evidence that lacks it or makes no sense.
struct Circumstances {
  JudgeOptions options;
  DeviceKind device = DeviceKind::kCpu;
  Sol sol;
  std::string secret;
  std::string operator_files;
};
Result<Circumstances> CircumstancesOf(const Json& evidence);

// Whether Conclude says this of a timing; other outcomes of the performance gate are of single
// calls.
bool IsConclusion(Outcome outcome);

// Computes outcome, times, clocks, shares and attainment anew from the raw measurements of
// `archived` alone, by the code that judged them. Requires: its evidence has a timing.
Result<Verdict> ConcludeAgain(const Verdict& archived);

}  // namespace roofmark::gate
