// SPDX-License-Identifier: Apache-2.0
// The times that speed-ups are against.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "exchange/export.h"

namespace roofmark::exchange {

struct Baseline {
  std::string name;                  // empty where none was judged
  std::map<std::string, double> ns;  // by workload id
};

// Errors: as FlashInferTraces.
Result<Baseline> BaselineOf(const ExportRequest& request);

// The request's workloads by id.
std::map<std::string, const Workload*> WorkloadsById(const ExportRequest& request);

std::string WorkloadId(const Verdict& verdict);

}  // namespace roofmark::exchange
