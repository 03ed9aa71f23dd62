// SPDX-License-Identifier: Apache-2.0
// Admission, merging of nearby shapes, and the suite document both ways.
#include "suite/from_aggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "suite/aggregate_weights.h"
#include "suite/card.h"
#include "suite/make_workload.h"

namespace roofmark::suite {
namespace {

constexpr std::string_view kFormat = "roofmark-suite/1";
constexpr double kBucketRatio = 1.05;
constexpr int64_t kMaxDivisor = 128;

// Why a cell is in no workload; empty where it is in one.
std::string Refusal(const AggregateCell& cell, const Operator* op) {
  if (cell.op.empty()) return "no rule claims it";
  if (op == nullptr) return "no card";
  if (cell.axes.empty()) return "shape unknown";
  for (const auto& [axis, is_list] : op->axes) {
    const auto found = cell.axes.find(axis);
    if (found == cell.axes.end()) return fmt::format("axis {} not recorded", axis);
    if (std::holds_alternative<std::vector<int64_t>>(found->second) != is_list) {
      return fmt::format("axis {} of another kind", axis);
    }
  }
  for (const TensorSpec& input : op->inputs) {
    const auto recorded = cell.dtypes.find(input.name);
    if (recorded != cell.dtypes.end() && recorded->second != DTypeName(input.dtype)) {
      return "other element types";
    }
  }
  return "";
}

int64_t Bucket(int64_t size) {
  if (size <= 0) return -1;
  return static_cast<int64_t>(
      std::floor(std::log(static_cast<double>(size)) / std::log(kBucketRatio)));
}

// Largest power of two that divides the size, at most kMaxDivisor.
int64_t Divisor(int64_t size) {
  return size == 0 ? 0 : std::gcd(size, kMaxDivisor);
}

// Cells with equal keys are one workload.
using BucketKey = std::vector<int64_t>;

BucketKey KeyOf(const AggregateCell& cell, const Operator& op) {
  BucketKey key{static_cast<int64_t>(cell.phase)};
  const bool has_lists = std::ranges::any_of(op.axes, [](const auto& axis) { return axis.second; });
  bool first = true;
  for (const auto& [axis, is_list] : op.axes) {
    const AxisValue& value = cell.axes.find(axis)->second;
    if (is_list) {
      const auto& list = std::get<std::vector<int64_t>>(value);
      key.push_back(static_cast<int64_t>(list.size()));
      key.push_back(Bucket(std::accumulate(list.begin(), list.end(), int64_t{0})));
      key.push_back(list.empty() ? 0 : Bucket(std::ranges::max(list)));
    } else if (const auto* size = std::get_if<int64_t>(&value)) {
      const bool load = first && !has_lists;
      key.push_back(load ? Bucket(*size) : *size);
      key.push_back(load ? Divisor(*size) : 0);
    }
    first = false;
  }
  return key;
}

struct MinedWorkload {
  const Operator* op = nullptr;
  std::vector<const FleetCell*> members;  // the first represents them
  std::map<size_t, double> parts;
  Share share;
};

std::vector<MinedWorkload> Merge(const std::vector<const FleetCell*>& admitted,
                                 const std::map<std::string, const Operator*>& cards,
                                 const FleetWeights& weights) {
  std::map<std::pair<std::string, BucketKey>, MinedWorkload> buckets;
  for (const FleetCell* cell : admitted) {  // largest share first
    const Operator* op = cards.at(cell->sums.op);
    MinedWorkload& workload = buckets[{op->name, KeyOf(cell->sums, *op)}];
    workload.op = op;
    workload.members.push_back(cell);
    for (const auto& [unit, part] : cell->parts) workload.parts[unit] += part;
  }
  std::vector<MinedWorkload> merged;
  for (auto& [key, workload] : buckets) {
    workload.share = ShareOfParts(workload.parts, weights.units);
    merged.push_back(std::move(workload));
  }
  std::ranges::stable_sort(merged, std::greater<>(),
                           [](const MinedWorkload& workload) { return workload.share.value; });
  return merged;
}

Json ShareToJson(const Share& share) {
  Json json = Json::MakeObject();
  json.Set("value", share.value).Set("low", share.low).Set("high", share.high);
  return json;
}

// Only the axes that the card has: recipes may record more.
Axes CardAxes(const AggregateCell& cell, const Operator& op) {
  Axes axes;
  for (const auto& [axis, is_list] : op.axes) axes.insert(*cell.axes.find(axis));
  return axes;
}

std::string ShapeId(const AggregateCell& cell, const Axes& axes) {
  return fmt::format("m-{}-{}", PhaseName(cell.phase),
                     Sha256Hex(AxesToJson(axes).Dump()).substr(0, 8));
}

Json WorkloadToJson(const MinedWorkload& workload) {
  const FleetCell& shown = *workload.members.front();
  const Axes axes = CardAxes(shown.sums, *workload.op);
  Json json = Json::MakeObject();
  json.Set("operator", workload.op->name).Set("shape", ShapeId(shown.sums, axes));
  json.Set("phase", PhaseName(shown.sums.phase)).Set("axes", AxesToJson(axes));
  json.Set("weight", ShareToJson(workload.share));
  json.Set("deployed_ns", shown.sums.DeployedNs());
  Json deployed = Json::MakeObject();
  for (const auto& [device, time] : shown.deployed_ns) deployed.Set(device, time);
  json.Set("deployed_ns_by_device", std::move(deployed));
  int64_t calls = 0;
  std::map<std::string, int64_t> kernels;
  for (const FleetCell* member : workload.members) {
    calls += member->sums.calls;
    for (const auto& [name, use] : member->sums.kernels) kernels[name] += use.sum_ns;
  }
  json.Set("merged_shapes", static_cast<int64_t>(workload.members.size())).Set("calls", calls);
  std::vector<std::pair<std::string, int64_t>> sorted(kernels.begin(), kernels.end());
  std::ranges::stable_sort(sorted, std::greater<>(), [](const auto& use) { return use.second; });
  Json names = Json::MakeArray();
  for (const auto& [name, time] : sorted) names.Push(name);
  json.Set("kernels", std::move(names));
  return json;
}

// All of the fleet's operators, with what of them is in workloads and why the rest is not.
Json OperatorsToJson(const FleetWeights& weights,
                     const std::map<std::string, const Operator*>& cards) {
  struct Row {
    std::map<size_t, double> parts;
    double in_workloads = 0;
    std::map<std::string, double> outside;
    std::map<Phase, double> phases;
    Share share;
  };
  std::map<std::string, Row> rows;
  for (const FleetCell& cell : weights.cells) {
    Row& row = rows[cell.sums.op];
    for (const auto& [unit, part] : cell.parts) row.parts[unit] += part;
    row.phases[cell.sums.phase] += cell.share.value;
    const auto card = cards.find(cell.sums.op);
    const std::string why = Refusal(cell.sums, card == cards.end() ? nullptr : card->second);
    (why.empty() ? row.in_workloads : row.outside[why]) += cell.share.value;
  }
  std::vector<std::pair<std::string, Row*>> sorted;
  for (auto& [name, row] : rows) {
    row.share = ShareOfParts(row.parts, weights.units);
    sorted.emplace_back(name, &row);
  }
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [](const auto& entry) { return entry.second->share.value; });
  Json json = Json::MakeArray();
  for (const auto& [name, row] : sorted) {
    Json entry = Json::MakeObject();
    entry.Set("operator", name.empty() ? "unattributed" : name);
    entry.Set("share", ShareToJson(row->share)).Set("in_workloads", row->in_workloads);
    Json outside = Json::MakeObject();
    for (const auto& [why, share] : row->outside) outside.Set(why, share);
    Json phases = Json::MakeObject();
    for (const auto& [phase, share] : row->phases) phases.Set(PhaseName(phase), share);
    entry.Set("outside", std::move(outside)).Set("phases", std::move(phases));
    json.Push(std::move(entry));
  }
  return json;
}

Json FleetToJson(const FleetWeights& weights, const Aggregate& aggregate) {
  std::set<std::string> applications;
  std::set<std::string> devices;
  for (const auto& [hash, profile] : aggregate.profiles()) {
    if (!profile.application.empty()) applications.insert(profile.application);
    if (!profile.device.empty()) devices.insert(profile.device);
  }
  Json json = Json::MakeObject();
  json.Set("profiles", static_cast<int64_t>(weights.profiles));
  json.Set("sampling_units", static_cast<int64_t>(weights.units.size()));
  json.Set("card_hours", weights.card_hours);
  Json names = Json::MakeArray();
  for (const std::string& name : applications) names.Push(name);
  Json device_names = Json::MakeArray();
  for (const std::string& name : devices) device_names.Push(name);
  json.Set("applications", std::move(names)).Set("devices", std::move(device_names));
  json.Set("interval", weights.units.size() > 1
                           ? "delete-one jackknife over sampling units, 95 %, Student's t"
                           : "none: one sampling unit");
  return json;
}

}  // namespace

Result<Json> BuildSuite(const Aggregate& aggregate,
                        std::span<const std::unique_ptr<const Operator>> operators) {
  const FleetWeights weights = WeighAggregate(aggregate);
  if (weights.total == 0) {
    return Fail(ErrorKind::kInput, "the aggregate holds no GPU time: mine profiles with kernels");
  }
  std::map<std::string, const Operator*> cards;
  for (const auto& op : operators) cards[op->name] = op.get();
  std::vector<const FleetCell*> admitted;
  double covered = 0;
  double unattributed = 0;
  for (const FleetCell& cell : weights.cells) {
    const auto card = cards.find(cell.sums.op);
    if (cell.sums.op.empty()) unattributed += cell.share.value;
    if (!Refusal(cell.sums, card == cards.end() ? nullptr : card->second).empty()) continue;
    admitted.push_back(&cell);
    covered += cell.share.value;
  }
  Json json = Json::MakeObject();
  json.Set("format", kFormat).Set("label", WeightLabelName(WeightLabel::kMined));
  json.Set("fleet", FleetToJson(weights, aggregate));
  json.Set("coverage", covered).Set("unattributed", unattributed);
  json.Set("operators", OperatorsToJson(weights, cards));
  Json workloads = Json::MakeArray();
  for (const MinedWorkload& workload : Merge(admitted, cards, weights)) {
    workloads.Push(WorkloadToJson(workload));
  }
  json.Set("workloads", std::move(workloads));
  return json;
}

Result<Json> BuildSuite(const Aggregate& aggregate) {
  const auto operators = TRY(ReadAllOperators());
  return BuildSuite(aggregate, operators);
}

}  // namespace roofmark::suite
