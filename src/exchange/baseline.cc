// SPDX-License-Identifier: Apache-2.0
#include "exchange/baseline.h"

#include <fmt/format.h>

#include <set>

namespace roofmark::exchange {

std::string WorkloadId(const Verdict& verdict) {
  return verdict.operator_name + "/" + verdict.shape;
}

std::map<std::string, const Workload*> WorkloadsById(const ExportRequest& request) {
  std::map<std::string, const Workload*> workloads;
  for (const Workload& workload : request.workloads) workloads[workload.Id()] = &workload;
  return workloads;
}

Result<Baseline> BaselineOf(const ExportRequest& request) {
  const auto workloads = WorkloadsById(request);
  std::set<std::string> names;
  for (const store::StoredVerdict& stored : request.verdicts) {
    const Verdict& verdict = stored.verdict;
    if (verdict.role == Role::kBaseline && workloads.contains(WorkloadId(verdict))) {
      names.insert(verdict.candidate);
    }
  }
  Baseline baseline{.name = request.baseline};
  if (baseline.name.empty()) {
    if (names.size() > 1) {
      return Fail(ErrorKind::kUsage,
                  fmt::format("several baselines were judged; choose with --baseline: {}",
                              fmt::join(names, ", ")));
    }
    if (!names.empty()) baseline.name = *names.begin();
  } else if (!names.contains(baseline.name)) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("no baseline '{}' was judged (there are: {})", baseline.name,
                            names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  for (const store::StoredVerdict& stored : request.verdicts) {
    const Verdict& verdict = stored.verdict;
    if (verdict.role == Role::kBaseline && verdict.candidate == baseline.name && verdict.passed() &&
        verdict.time_ns) {
      if (!baseline.ns.emplace(WorkloadId(verdict), verdict.time_ns->median).second) {
        return Fail(ErrorKind::kUsage,
                    fmt::format("baseline '{}' has two times on {}, in two lanes; keep them in two "
                                "stores",
                                baseline.name, WorkloadId(verdict)));
      }
    }
  }
  return baseline;
}

}  // namespace roofmark::exchange
