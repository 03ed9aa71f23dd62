// SPDX-License-Identifier: Apache-2.0
#include "suite/released_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/files.h"
#include "suite/card.h"
#include "suite/weight_lines.h"

namespace roofmark::suite {
namespace {

using Operators = std::map<std::string, Operator>;

Result<WeightLabel> ParseLabel(const std::string& name) {
  for (const WeightLabel label :
       {WeightLabel::kPublished, WeightLabel::kMined, WeightLabel::kAssumed}) {
    if (WeightLabelName(label) == name) return label;
  }
  return Fail(ErrorKind::kInput,
              fmt::format("label '{}' is not published, mined or assumed", name));
}

Result<Json> ReadWeights(const fs::path& path) {
  if (!fs::exists(path)) {
    return Fail(ErrorKind::kNotFound,
                path.string() +
                    ": the hidden part of the release is not here, and weights belong "
                    "to it");
  }
  Json document = TRY(ReadJson(path));
  const std::string format = TRY_IN(document.String("format"), path.string());
  if (format != kWeightsFormat && format != kWeightsFormat1) {
    return Fail(ErrorKind::kInput,
                fmt::format("{}: format '{}' is neither {} nor {}", path.string(), format,
                            kWeightsFormat, kWeightsFormat1));
  }
  return document;
}

Result<WeightLines> ReadLines(const Json& document) {
  WeightLines lines;
  size_t number = 0;
  const bool old = TRY(document.String("format")) == kWeightsFormat1;
  for (const Json& row : TRY(document.ArrayAt("workloads"))->array()) {
    const std::string where = fmt::format("workload {}", ++number);
    const std::string id = TRY_IN(row.String("workload"), where);
    std::string provenance = TRY_IN(row.String("provenance"), where);
    if (old) provenance += "; its deployed time is a mean over all devices";
    const WeightLabel label =
        TRY_IN(ParseLabel(TRY_IN(row.String("label"), where)), where + ", " + id);
    WeightLine line =
        TRY_IN(ReadWeightLine(row, row, label, std::move(provenance)), where + ", " + id);
    if (!lines.emplace(id, std::move(line)).second) {
      return Fail(ErrorKind::kInput, fmt::format("{}: {} is there twice", where, id));
    }
  }
  return lines;
}

// Makes sure that the operator here has the shape of a line of workloads.jsonl.
Result<void> TakeShape(const Json& line, Operators& operators) {
  const std::string id = TRY(line.String("workload"));
  const std::string name = id.substr(0, id.find('/'));
  const std::string shape_id = id.substr(std::min(id.size(), name.size() + 1));
  const auto found = operators.find(name);
  if (found == operators.end()) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("there is no card of operator '{}'; name the folder that has it in "
                            "ROOFMARK_OPERATORS",
                            name));
  }
  Operator& op = found->second;
  const Axes axes = TRY(AxesFromJson(*TRY(line.ObjectAt("axes"))));
  const auto here = std::ranges::find(op.shapes, shape_id, &Shape::id);
  if (here != op.shapes.end() && AxesToJson(here->axes).Dump() == AxesToJson(axes).Dump())
    return {};
  const Tier tier = TRY(ParseTier(TRY(line.String("tier"))));
  if (here != op.shapes.end() || tier != Tier::kMined) {
    return Fail(ErrorKind::kInput,
                fmt::format("{} is {} the operator here: the release is of another version of it",
                            id, here != op.shapes.end() ? "another shape than that of" : "not in"));
  }
  Json mined = Json::MakeObject();
  mined.Set("id", shape_id).Set("tier", TierName(tier)).Set("phase", TRY(line.String("phase")));
  mined.Set("axes", AxesToJson(axes));
  op.shapes.push_back(TRY_IN(ParseShape(mined, op), id));
  return {};
}

}  // namespace

Result<Suite> LoadReleasedSuite(const fs::path& folder, const Selection& selection) {
  const fs::path weights_path = folder / "hidden/weights.json";
  const Json document = TRY(ReadWeights(weights_path));
  const WeightLines lines = TRY_IN(ReadLines(document), weights_path.string());
  Operators operators;
  for (const auto& op : TRY(ReadAllOperators())) operators.emplace(op->name, *op);
  const fs::path workloads_path = folder / "hidden/workloads.jsonl";
  size_t number = 0;
  for (const Json& line : TRY(ReadJsonLines(workloads_path))) {
    TRY_IN(TakeShape(line, operators), fmt::format("{}:{}", workloads_path.string(), ++number));
  }
  std::vector<std::unique_ptr<const Operator>> cards;
  for (auto& [name, op] : operators) cards.push_back(std::make_unique<Operator>(std::move(op)));
  Suite suite = TRY(MakeSuite(std::move(cards), selection));
  std::erase_if(suite.workloads,
                [&](const Workload& workload) { return !lines.contains(workload.Id()); });
  suite.name = fmt::format("{} {}", TRY_IN(document.String("suite"), weights_path.string()),
                           TRY_IN(document.String("version"), weights_path.string()));
  ApplyWeights(lines, WeightLabel::kAssumed, "", suite);
  return suite;
}

}  // namespace roofmark::suite
