// SPDX-License-Identifier: Apache-2.0
// Where a run's time went, for `judge --timings`: by part, for each candidate and in all.
#pragma once

#include <string>

#include "base/json.h"
#include "gate/ledger.h"

namespace roofmark::pipeline {

// {"timings": {wall_s, workloads, s_per_workload, overhead_share, parts: {name: s},
//  ahead: {name: s}, candidates: [{candidate, parts: {name: s}}]}}. Parts of 0 s are left out; the
// candidate is "operator/name", or "operator" for what an operator's candidates share, or "".
Json TimingsToJson(const gate::Ledger::Totals& totals, size_t workloads);

// The same as a table for people, one line a part.
std::string TimingsTable(const gate::Ledger::Totals& totals, size_t workloads);

}  // namespace roofmark::pipeline
