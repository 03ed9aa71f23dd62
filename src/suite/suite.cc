// SPDX-License-Identifier: Apache-2.0
#include "suite/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/files.h"
#include "suite/card.h"
#include "suite/make_workload.h"

namespace roofmark::suite {
namespace {

template <typename T>
bool Admits(const std::vector<T>& wanted, const T& value) {
  return wanted.empty() || std::ranges::find(wanted, value) != wanted.end();
}

bool Selects(const Selection& selection, const Operator& op, const Shape& shape) {
  return Admits(selection.operators, op.name) && Admits(selection.tiers, shape.tier) &&
         (Admits(selection.shapes, shape.id) || Admits(selection.shapes, op.name + "/" + shape.id));
}

// A misspelt name must not silently select nothing.
Result<void> CheckNames(const Suite& suite, const Selection& selection) {
  std::vector<std::string_view> known;
  for (const auto& op : suite.operators) known.push_back(op->name);
  for (const std::string& name : selection.operators) {
    if (suite.FindOperator(name) == nullptr) {
      return Fail(ErrorKind::kNotFound, fmt::format("there is no operator '{}' (known: {})", name,
                                                    fmt::join(known, ", ")));
    }
  }
  for (const std::string& id : selection.shapes) {
    const bool taken = std::ranges::any_of(suite.workloads, [&](const Workload& workload) {
      return workload.shape.id == id || workload.Id() == id;
    });
    if (!taken) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("no selected operator and tier has a shape '{}'; `roofmark suite "
                              "list` shows them",
                              id));
    }
  }
  return {};
}

}  // namespace

const Operator* Suite::FindOperator(std::string_view operator_name) const {
  for (const auto& op : operators) {
    if (op->name == operator_name) return op.get();
  }
  return nullptr;
}

Result<std::vector<std::unique_ptr<const Operator>>> ReadOperators(
    const std::filesystem::path& operators_folder) {
  std::vector<std::unique_ptr<const Operator>> operators;
  for (const fs::path& entry : TRY(ListFolder(operators_folder))) {
    if (!fs::exists(entry / "operator.toml")) continue;
    operators.push_back(std::make_unique<const Operator>(TRY(ReadOperator(entry))));
  }
  if (operators.empty()) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("{}: no folder in it holds an operator.toml; ROOFMARK_DATA names the "
                            "folder that holds operators/, ROOFMARK_OPERATORS further ones",
                            operators_folder.string()));
  }
  return operators;
}

Result<std::vector<std::unique_ptr<const Operator>>> ReadAllOperators() {
  std::vector<std::unique_ptr<const Operator>> all;
  for (const fs::path& folder : TRY(OperatorFolders())) {
    for (auto& op : TRY(ReadOperators(folder))) all.push_back(std::move(op));
  }
  const auto name = [](const auto& op) { return op->name; };
  std::ranges::stable_sort(all, {}, name);
  const auto twice = std::ranges::adjacent_find(all, {}, name);
  if (twice != all.end()) {
    return Fail(ErrorKind::kInput,
                fmt::format("{} and {} hold operators of one name; rename one of them, folder and "
                            "card",
                            (*twice)->folder.string(), (*std::next(twice))->folder.string()));
  }
  return all;
}

Result<Suite> MakeSuite(std::vector<std::unique_ptr<const Operator>> operators,
                        const Selection& selection) {
  Suite suite{.name = "published", .operators = std::move(operators)};
  for (const auto& op : suite.operators) {
    for (const Shape& shape : op->shapes) {
      if (!Selects(selection, *op, shape)) continue;
      Workload workload = TRY(MakeWorkload(*op, shape));
      workload.weight = PublishedWeight(*op, shape);
      suite.workloads.push_back(std::move(workload));
    }
  }
  TRY(CheckNames(suite, selection));
  return suite;
}

Result<Suite> LoadSuite(const Selection& selection, const fs::path& folder) {
  if (folder.empty()) return MakeSuite(TRY(ReadAllOperators()), selection);
  // The folder that `suite import` wrote holds candidates/ too.
  const fs::path inner = folder / "operators";
  return MakeSuite(TRY(ReadOperators(fs::is_directory(inner) ? inner : folder)), selection);
}

Weight PublishedWeight(const Operator& op, const Shape& shape) {
  const auto peers = std::ranges::count(op.shapes, shape.tier, &Shape::tier);
  Weight weight;
  weight.value = peers == 0 ? 0 : op.weight_published / static_cast<double>(peers);
  if (shape.tier == Tier::kImported && op.weight_published == 0) {
    weight.value = 1 / static_cast<double>(peers);
    weight.low = weight.high = weight.value;
    weight.provenance = "imported without a weight: each operator counts alike, and its shapes too";
    return weight;
  }
  weight.low = weight.value;
  weight.high = weight.value;
  weight.label = WeightLabel::kAssumed;
  weight.provenance = fmt::format(
      "the operator's published weight {} (arXiv 2607.14541), split equally over its {} {} shapes",
      op.weight_published, peers, TierName(shape.tier));
  return weight;
}

std::vector<size_t> TellingWorkloads(std::span<const Workload> workloads) {
  std::vector<size_t> order(workloads.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return workloads[i].traffic.Total(); });
  std::vector<size_t> telling;
  if (!order.empty()) telling = {order.front(), order[order.size() / 2], order.back()};
  std::ranges::sort(telling);
  telling.erase(std::ranges::unique(telling).begin(), telling.end());
  return telling;
}

}  // namespace roofmark::suite
