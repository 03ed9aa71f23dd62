// SPDX-License-Identifier: Apache-2.0
// What the meter alone would let pass on a GPU: settings that a call leaves on the stage's stream
// or device, work on other streams that nobody waits for, and kernels that CUPTI does not report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gate/cuda_timeline.h"
#include "gate/stopwatch.h"
#include "model/verdict.h"

namespace roofmark::gate {

// What the stage found beside times (CudaStage::Findings).
struct StageFindings {
  int64_t set_aside = 0;  // of the L2 cache, in bytes, when the batch was over
  int64_t policies = 0;   // flushes ahead of which the stream had an access policy; -1 = not told
  std::vector<double> joined_ns;  // what a call's stream waited for its context; empty = it did not
};

// Errors: kInput for anything but the stage's format with as many joins as `calls`, or none.
Result<StageFindings> ReadFindings(const Json& stage, size_t calls);

// What a call left behind that outlives it, for a verdict; nothing where it left nothing. When the
// batch began there was no set-aside, and ahead of each flush an access policy is taken away.
std::string LeftBehind(const StageFindings& stage);

// That other streams went on when those of the calls were done, longer than in the batch without
// calls; nothing where they did not, or where nobody waited for them.
std::string GoesOnElsewhere(const StageFindings& made, const StageFindings& empty);

// Where the process has made conditional nodes of graphs, the kernels in their bodies may go
// unreported: a call lasts as long as its events read then, less the least that these read too
// much. What of that no reported operation explains is unseen.
void CountConditionals(const MeterReport& report, const std::vector<double>& event_ns,
                       Timeline* timeline);

// Whose unseen kernels are: a kernel names those that it was linked with, but the host can give the
// body of a conditional node any kernel of its process.
Owner OwnerOfUnseen(const MeterReport& report, const Provenance& provenance,
                    const std::string& stage_sha256);

// For a verdict's level: what CUPTI does not report of such calls, and what their times are then.
std::string UnreportedText(const MeterReport& report, Children children,
                           const StageFindings& stage);

}  // namespace roofmark::gate
