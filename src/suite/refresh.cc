// SPDX-License-Identifier: Apache-2.0
#include "suite/refresh.h"

#include <fmt/format.h>

#include "suite/recorded_shares.h"

namespace roofmark::suite {
namespace {

// Of the operators' shares together, if the window were recorded again.
std::optional<double> VarianceOf(const FleetWeights& weights) {
  std::map<std::string, size_t> rows;
  std::vector<size_t> row_of_cell;
  for (const FleetCell& cell : weights.cells) {
    row_of_cell.push_back(rows.try_emplace(cell.sums.op, rows.size()).first->second);
  }
  const auto recorded = ShareOfRecordings(weights, row_of_cell, rows.size());
  if (!recorded) return std::nullopt;
  return recorded->variance;
}

Result<std::string> IdOf(const Json& workload) {
  return TRY(workload.String("operator")) + "/" + TRY(workload.String("shape"));
}

// "certain", "tail", "robustness" or "retiring".
std::string HowSelected(const Json& workload) {
  const Json* selection = workload.Find("selection");
  const Json* as = selection == nullptr ? nullptr : selection->Find("as");
  return as != nullptr && as->is_string() ? as->as_string() : "";
}

Json WithoutWeight(const Json& workload) {
  Json retiring = workload;
  retiring.Set("weight", Json::MakeObject().Set("value", 0.0).Set("low", 0.0).Set("high", 0.0));
  retiring.Set("recordings", Json::Array{0.0, 0.0});
  retiring.Set("selection", Json::MakeObject()
                                .Set("as", "retiring")
                                .Set("probability", 1.0)
                                .Set("share", 0.0)
                                .Set("stratum", Json()));
  return retiring;
}

}  // namespace

NewWindow WeighNewWindow(const Aggregate& older, const Aggregate& newer, ShareKind kind,
                         std::optional<double> asked) {
  if (asked) return {.weight = *asked, .from = "asked"};
  const FleetWeights before = WeighAggregate(older, kind);
  const FleetWeights after = WeighAggregate(newer, kind);
  const std::optional<double> before_variance = VarianceOf(before);
  const std::optional<double> after_variance = VarianceOf(after);
  if (before_variance && after_variance && *before_variance + *after_variance > 0) {
    return {.weight = *before_variance / (*before_variance + *after_variance), .from = "variances"};
  }
  const auto count = static_cast<double>(before.profiles + after.profiles);
  return {.weight = count > 0 ? static_cast<double>(after.profiles) / count : 1,
          .from = "profiles"};
}

Result<std::set<std::string>> ShapesOfSuite(const Json& suite) {
  const std::string format = TRY(suite.String("format"));
  if (format != "roofmark-suite/1") {
    return Fail(ErrorKind::kInput, fmt::format("format '{}' is not roofmark-suite/1", format));
  }
  std::set<std::string> shapes;
  for (const Json& workload : TRY(suite.ArrayAt("workloads"))->array()) {
    shapes.insert(TRY(IdOf(workload)));
  }
  return shapes;
}

Refreshed RefreshShapes(const Json& previous, const Json::Array& workloads, const Cards& cards) {
  Refreshed refreshed;
  std::set<std::string> before;
  for (const Json& workload : previous.Find("workloads")->array()) {
    before.insert(IdOf(workload).value());
  }
  std::set<std::string> now;
  for (const Json& workload : workloads) {
    const std::string id = IdOf(workload).value();
    now.insert(id);
    (before.contains(id) ? refreshed.kept : refreshed.fresh) += 1;
  }
  for (const Json& workload : previous.Find("workloads")->array()) {
    if (now.contains(IdOf(workload).value())) continue;
    const std::string how = HowSelected(workload);
    const bool weighed = how == "certain" || how == "tail";
    if (weighed && cards.contains(workload.Find("operator")->as_string())) {
      refreshed.retiring.push_back(WithoutWeight(workload));
    } else {
      ++refreshed.retired;
    }
  }
  return refreshed;
}

}  // namespace roofmark::suite
