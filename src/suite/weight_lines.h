// SPDX-License-Identifier: Apache-2.0
// What the documents with weights (roofmark-suite/1, roofmark-weights/1 and /2) say of one workload
// beside its shape, and how it gets to the workload.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "model/suite_draws.h"
#include "model/workload.h"
#include "suite/suite.h"

namespace roofmark::suite {

struct WeightLine {
  Weight weight;
  double deployed_ns = 0;                   // mean over the calls of all devices; 0: unknown
  std::map<std::string, double> by_device;  // empty: the document does not tell devices apart
  std::optional<Drawn> drawn;               // absent: it is there for sure
};
using WeightLines = std::map<std::string, WeightLine>;  // by "operator/shape"

// `weight` holds value, low and high; `entry` deployed_ns, and where they are known
// deployed_ns_by_device and selection. Errors: kInput for what is missing or makes no sense.
Result<WeightLine> ReadWeightLine(const Json& entry, const Json& weight, WeightLabel label,
                                  std::string provenance);

// Gives each workload of the suite its line, and the suite its draws. Workloads without a line
// weigh nothing and have the provenance.
void ApplyWeights(const WeightLines& lines, WeightLabel label, const std::string& provenance,
                  Suite& suite);

}  // namespace roofmark::suite
