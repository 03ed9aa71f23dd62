// SPDX-License-Identifier: Apache-2.0
// Verdicts in the terms of other benchmarks: FlashInfer-Bench traces and KernelBench's fast_p. What
// those terms cannot say is left out and named; nothing is filled in.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/workload.h"
#include "store/store.h"

namespace roofmark::exchange {

struct ExportRequest {
  std::span<const store::StoredVerdict> verdicts;  // of one device, with their runs
  std::span<const store::RunInfo> runs;
  std::span<const Workload> workloads;  // verdicts on others are ignored
  // Name of the baseline that speed-ups are against; empty: the only one among the verdicts.
  std::string baseline;
};

struct Exported {
  std::vector<Json> lines;
  std::vector<std::string> left_out;  // sentences for a person, each with a count
};

// A trace for each verdict of a candidate (baselines too). An imported definition keeps its name
// and its workload as it was; for other operators the workload states axes and random inputs.
//   PASSED needs a time, so verdicts without are left out; so are refusals by the performance gate,
//   for which FlashInfer-Bench has no status. Absolute and relative errors are not kept by Roofmark
//   and stated as "NaN"; extra.max_error_over_tolerance is what is known. reference_latency_ms and
//   speedup_factor are there where the baseline was judged on the workload.
// Errors: kUsage where `baseline` is empty and there are several; kNotFound where it has no
// verdict.
Result<Exported> FlashInferTraces(const ExportRequest& request);

// fast_p for p in 0, 0.5, 0.8, 1, 1.5, 2: the share of the n problems (workloads with a verdict) on
// which a candidate is correct and more than p times as fast as the baseline. A line for each
// candidate, and one named "all" where no problem has two. A problem that the baseline has no time
// for is left out of n. KernelBench counts every time; here a candidate that the performance gate
// refused is not correct, and has its own count.
// Source: Ouyang et al., KernelBench, arXiv 2502.10517, section 3.3.
// Errors: as above; kNotFound also where no baseline was judged.
Result<Exported> FastP(const ExportRequest& request);

}  // namespace roofmark::exchange
