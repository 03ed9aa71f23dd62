// SPDX-License-Identifier: Apache-2.0
// Admission, merging of nearby shapes, and the medoid of each bucket.
#include "suite/mined_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/hash.h"
#include "suite/imputation.h"
#include "suite/make_workload.h"

namespace roofmark::suite {
namespace {

constexpr double kBucketRatio = 1.05;
constexpr int64_t kMaxDivisor = 128;

int64_t Bucket(int64_t size) {
  if (size <= 0) return -1;
  return static_cast<int64_t>(
      std::floor(std::log(static_cast<double>(size)) / std::log(kBucketRatio)));
}

// Largest power of two that divides the size, at most kMaxDivisor.
int64_t Divisor(int64_t size) {
  return size == 0 ? 0 : std::gcd(size, kMaxDivisor);
}

constexpr const char* kBatch = "batch";

bool HasAxis(const Operator& op, std::string_view axis) {
  return std::ranges::find(op.axes, axis, &std::pair<std::string, bool>::first) != op.axes.end();
}

// Whether what was recorded of element types is the card's; what was not recorded fits.
bool TypesFit(const AggregateCell& cell, const Operator& op) {
  const auto fits = [&](const TensorSpec& tensor) {
    const auto recorded = cell.dtypes.find(tensor.name);
    if (recorded == cell.dtypes.end()) return true;
    if (tensor.dtype_axis.empty()) return recorded->second == DTypeName(tensor.dtype);
    return std::ranges::find(tensor.dtypes, recorded->second, DTypeName) != tensor.dtypes.end();
  };
  return std::ranges::all_of(op.inputs, fits) && std::ranges::all_of(op.outputs, fits);
}

// The value of an axis that chooses an element type, by the type that was recorded.
std::optional<int64_t> ChoiceOfType(const AggregateCell& cell, const Operator& op,
                                    std::string_view axis) {
  for (const TensorSpec& input : op.inputs) {
    const auto recorded = cell.dtypes.find(input.name);
    if (input.dtype_axis != axis || recorded == cell.dtypes.end()) continue;
    const auto found = std::ranges::find(input.dtypes, recorded->second, DTypeName);
    if (found != input.dtypes.end()) return found - input.dtypes.begin();
  }
  return std::nullopt;
}

// Cells with equal keys are one workload.
using BucketKey = std::vector<int64_t>;

BucketKey KeyOf(const AggregateCell& cell, const Operator& op) {
  const Axes axes = CardAxes(cell, op);
  BucketKey key{static_cast<int64_t>(cell.phase)};
  const bool has_lists = std::ranges::any_of(op.axes, [](const auto& axis) { return axis.second; });
  bool first = true;
  for (const auto& [axis, is_list] : op.axes) {
    const AxisValue& value = axes.find(axis)->second;
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

// The cost of a cell as the card's workload; nothing where the card refuses the shape.
Result<ShapeCost> CostOfCell(const AggregateCell& cell, const Operator& op, const CostOf& cost) {
  const Shape shape{
      .id = "mined", .tier = Tier::kMined, .phase = cell.phase, .axes = CardAxes(cell, op)};
  const Workload workload = TRY(MakeWorkload(op, shape));
  return cost ? cost(workload) : ShapeCost{.ns = workload.traffic.Total(), .bound_by = ""};
}

// A kept member, else the one at which half of the weight is cheaper and half dearer.
void ChooseMedoid(MinedWorkload& workload, const MergeOptions& options) {
  std::vector<std::pair<const FleetCell*, ShapeCost>> costs;
  for (const FleetCell* member : workload.members) {
    costs.emplace_back(member,
                       CostOfCell(member->sums, *workload.op, options.cost).value_or(ShapeCost{}));
  }
  const auto kept = [&](const FleetCell* member) {
    return options.keep.contains(workload.op->name + "/" +
                                 MinedShapeId(member->sums, *workload.op));
  };
  const auto found = std::ranges::find_if(workload.members, kept);
  const FleetCell* keep = found == workload.members.end() ? nullptr : *found;
  std::ranges::stable_sort(costs, {}, [](const auto& entry) { return entry.second.ns; });
  double all = 0;
  for (const auto& [member, of_member] : costs) all += member->share.value;
  double below = 0;
  for (const auto& [member, of_member] : costs) {
    below += member->share.value;
    if (keep != nullptr && member != keep) continue;
    workload.shown = member;
    workload.cost = of_member;
    if (keep != nullptr || below >= all / 2) break;
  }
  if (!(all > 0) || !(workload.cost.ns > 0)) return;
  for (const auto& [member, of_member] : costs) {
    workload.residual += member->share.value / all * std::abs(of_member.ns / workload.cost.ns - 1);
  }
}

}  // namespace

std::string Refusal(const AggregateCell& cell, const Operator* op) {
  if (cell.op.empty()) return "no rule claims it";
  if (op == nullptr) return "no card";
  if (cell.folded > 0) return "beyond the budget of shapes";
  if (cell.axes.empty()) return "shape unknown";
  // Several products in one call are no call of a card that has one.
  if (cell.axes.contains(kBatch) && !HasAxis(*op, kBatch)) return "a batch of what the card has";
  if (!TypesFit(cell, *op)) return "other element types";
  const Axes axes = CardAxes(cell, *op);
  for (const auto& [axis, is_list] : op->axes) {
    const auto found = axes.find(axis);
    if (found == axes.end()) return fmt::format("axis {} not recorded", axis);
    if (std::holds_alternative<std::vector<int64_t>>(found->second) != is_list) {
      return fmt::format("axis {} of another kind", axis);
    }
  }
  return CostOfCell(cell, *op, {}) ? "" : "the card refuses the shape";
}

bool LacksShape(const AggregateCell& cell, const Operator& op) {
  const Axes axes = CardAxes(cell, op);
  return cell.folded == 0 &&
         std::ranges::any_of(op.axes, [&](const auto& axis) { return !axes.contains(axis.first); });
}

int64_t LoadOf(const AggregateCell& cell, const Operator& op) {
  int64_t load = 0;
  bool first = true;
  for (const auto& [axis, is_list] : op.axes) {
    const auto found = cell.axes.find(axis);
    if (found == cell.axes.end()) continue;
    if (const auto* list = std::get_if<std::vector<int64_t>>(&found->second)) {
      return std::accumulate(list->begin(), list->end(), int64_t{0});
    }
    const auto* size = std::get_if<int64_t>(&found->second);
    if (first && size != nullptr) load = *size;
    first = false;
  }
  return load;
}

Axes CardAxes(const AggregateCell& cell, const Operator& op) {
  Axes axes;
  for (const auto& [axis, is_list] : op.axes) {
    const auto found = cell.axes.find(axis);
    if (found != cell.axes.end()) {
      axes.insert(*found);
    } else if (const auto choice = ChoiceOfType(cell, op, axis)) {
      axes.emplace(axis, *choice);
    }
  }
  return axes;
}

const Operator* CardFor(const AggregateCell& cell, const Cards& cards) {
  const auto card = cards.find(cell.op);
  if (card == cards.end()) return nullptr;
  if (TypesFit(cell, *card->second)) return card->second;
  for (const auto& [name, op] : cards) {
    if (op->variant_of == cell.op && TypesFit(cell, *op)) return op;
  }
  return card->second;
}

std::string MinedShapeId(const AggregateCell& cell, const Operator& op) {
  return fmt::format("m-{}-{}", PhaseName(cell.phase),
                     Sha256Hex(AxesToJson(CardAxes(cell, op)).Dump()).substr(0, 8));
}

std::vector<MinedWorkload> MergeCells(const FleetWeights& weights, const Cards& cards,
                                      const Imputation& imputation, const MergeOptions& options,
                                      std::vector<size_t>& row_of_cell) {
  std::map<std::pair<std::string, BucketKey>, MinedWorkload> buckets;
  for (const FleetCell& cell : weights.cells) {
    const Operator* op = CardFor(cell.sums, cards);
    if (!Refusal(cell.sums, op).empty()) continue;
    MinedWorkload& workload = buckets[{op->name, KeyOf(cell.sums, *op)}];
    workload.op = op;
    workload.members.push_back(&cell);
    for (const auto& [unit, part] : cell.parts) workload.parts[unit] += part;
    for (const auto& [unit, part] :
         imputation.parts[static_cast<size_t>(&cell - weights.cells.data())]) {
      workload.imputed += part;
      if (options.impute) workload.parts[unit] += part;
    }
    const auto unknown = imputation.unknown.find({cell.sums.op, cell.sums.phase});
    if (unknown != imputation.unknown.end()) workload.unknown = unknown->second;
  }
  std::vector<MinedWorkload> merged;
  for (auto& [key, workload] : buckets) {
    workload.share = ShareOfParts(workload.parts, weights.units);
    ChooseMedoid(workload, options);
    merged.push_back(std::move(workload));
  }
  std::ranges::stable_sort(merged, std::greater<>(),
                           [](const MinedWorkload& workload) { return workload.share.value; });
  row_of_cell.assign(weights.cells.size(), SIZE_MAX);
  for (size_t row = 0; row < merged.size(); ++row) {
    for (const FleetCell* member : merged[row].members) {
      row_of_cell[static_cast<size_t>(member - weights.cells.data())] = row;
    }
  }
  return merged;
}

}  // namespace roofmark::suite
