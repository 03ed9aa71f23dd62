// SPDX-License-Identifier: Apache-2.0
// Reads a mined suite back and joins it with the cards.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "suite/card.h"
#include "suite/from_aggregate.h"
#include "suite/weight_lines.h"

namespace roofmark::suite {
namespace {

// Adds the shape of one entry to its operator.
Result<void> TakeEntry(const Json& entry, const std::string& provenance,
                       std::map<std::string, Operator>& operators, WeightLines& weights) {
  const std::string name = TRY(entry.String("operator"));
  const auto found = operators.find(name);
  if (found == operators.end()) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("there is no card of operator '{}'; name the folder that has it in "
                            "ROOFMARK_OPERATORS, or build the suite again",
                            name));
  }
  Json line = Json::MakeObject();
  line.Set("id", TRY(entry.String("shape"))).Set("tier", TierName(Tier::kMined));
  line.Set("phase", TRY(entry.String("phase"))).Set("axes", *TRY(entry.ObjectAt("axes")));
  const Shape shape = TRY(ParseShape(line, found->second));
  WeightLine mined =
      TRY(ReadWeightLine(entry, *TRY(entry.ObjectAt("weight")), WeightLabel::kMined, provenance));
  if (!weights.emplace(name + "/" + shape.id, std::move(mined)).second) {
    return Fail(ErrorKind::kInput, fmt::format("shape '{}' is there twice", shape.id));
  }
  found->second.shapes.push_back(shape);
  return {};
}

std::string Provenance(const Json& document, const std::filesystem::path& path) {
  const Json* fleet = document.Find("fleet");
  const Json* profiles = fleet == nullptr ? nullptr : fleet->Find("profiles");
  const Json* interval = fleet == nullptr ? nullptr : fleet->Find("interval");
  const Json* imputed = document.Find("imputed");
  const bool spread = imputed != nullptr && imputed->is_number() && imputed->as_double() > 0;
  return fmt::format(
      "mined: {} ({} profiles; interval: {}{}{})", path.filename().string(),
      profiles != nullptr && profiles->is_int() ? profiles->as_int() : 0,
      interval != nullptr && interval->is_string() ? interval->as_string() : "not stated",
      spread ? fmt::format("; {:.2f} % of the fleet's time is imputed to shapes",
                           100 * imputed->as_double())
             : "",
      document.Find("phase_mix") == nullptr ? "" : "; phases reweighed");
}

}  // namespace

Result<Suite> LoadWeightedSuite(const std::filesystem::path& path, const Selection& selection) {
  const std::string where = "reading suite " + path.string();
  const Json document = TRY(ReadJson(path));
  const std::string format = TRY_IN(document.String("format"), where);
  if (format != "roofmark-suite/1") {
    return Fail(ErrorKind::kInput,
                fmt::format("{}: format '{}' is not roofmark-suite/1", where, format));
  }
  std::map<std::string, Operator> operators;
  for (const auto& op : TRY(ReadAllOperators())) {
    operators.emplace(op->name, *op);
  }
  WeightLines weights;
  const std::string provenance = Provenance(document, path);
  size_t number = 0;
  for (const Json& entry : TRY_IN(document.ArrayAt("workloads"), where)->array()) {
    TRY_IN(TakeEntry(entry, provenance, operators, weights),
           fmt::format("{}: workload {}", where, ++number));
  }
  std::vector<std::unique_ptr<const Operator>> cards;
  for (auto& [name, op] : operators) cards.push_back(std::make_unique<Operator>(std::move(op)));
  Selection wanted = selection;
  // Mined weights say nothing about other shapes, so these must be asked for.
  if (wanted.tiers.empty() && wanted.shapes.empty()) wanted.tiers = {Tier::kMined};
  Suite suite = TRY(MakeSuite(std::move(cards), wanted));
  suite.name = path.stem().string();
  ApplyWeights(weights, WeightLabel::kMined, provenance, suite);
  return suite;
}

}  // namespace roofmark::suite
