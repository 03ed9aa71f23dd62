// SPDX-License-Identifier: Apache-2.0
#include "suite/weight_lines.h"

namespace roofmark::suite {
namespace {

Result<std::optional<Drawn>> ReadDrawn(const Json& entry) {
  std::optional<Drawn> drawn;
  const Json* selection = entry.Find("selection");
  if (selection == nullptr || selection->is_null()) return drawn;
  if (!selection->is_object()) return Fail(ErrorKind::kInput, "selection is no object");
  const Json* stratum = selection->Find("stratum");
  if (stratum == nullptr || stratum->is_null()) return drawn;
  drawn = Drawn{.probability = TRY_IN(selection->Double("probability"), "selection"),
                .stratum = TRY_IN(selection->String("stratum"), "selection")};
  // A sum of shares that should be 1 may miss it by rounding.
  if (!(drawn->probability > 0) || drawn->probability > 1 + 1e-9) {
    return Fail(ErrorKind::kInput, "a selection needs 0 < probability <= 1");
  }
  return drawn;
}

}  // namespace

Result<WeightLine> ReadWeightLine(const Json& entry, const Json& weight, WeightLabel label,
                                  std::string provenance) {
  WeightLine line{.weight = {.label = label, .provenance = std::move(provenance)}};
  line.weight.value = TRY(weight.Double("value"));
  line.weight.low = TRY(weight.Double("low"));
  line.weight.high = TRY(weight.Double("high"));
  const bool ordered = 0 <= line.weight.low && line.weight.low <= line.weight.value &&
                       line.weight.value <= line.weight.high && line.weight.high <= 1.0 + 1e-9;
  if (!ordered) return Fail(ErrorKind::kInput, "a weight needs 0 <= low <= value <= high <= 1");
  line.deployed_ns = TRY(entry.Double("deployed_ns"));
  if (entry.Find("deployed_ns_by_device") != nullptr) {
    const Json& devices = *TRY(entry.ObjectAt("deployed_ns_by_device"));
    for (const auto& [device, time] : devices.object()) {
      line.by_device[device] = TRY_IN(devices.Double(device), "deployed_ns_by_device");
    }
  }
  line.drawn = TRY(ReadDrawn(entry));
  return line;
}

void ApplyWeights(const WeightLines& lines, WeightLabel label, const std::string& provenance,
                  Suite& suite) {
  for (const auto& [id, line] : lines) {
    if (line.drawn) suite.draws[id] = *line.drawn;
  }
  for (Workload& workload : suite.workloads) {
    const auto found = lines.find(workload.Id());
    if (found == lines.end()) {
      workload.weight = {.label = label, .provenance = provenance};
      continue;
    }
    workload.weight = found->second.weight;
    workload.deployed_ns = found->second.deployed_ns;
    workload.deployed_by_device = found->second.by_device;
  }
}

}  // namespace roofmark::suite
