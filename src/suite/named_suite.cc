// SPDX-License-Identifier: Apache-2.0
#include "suite/named_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "model/names.h"

namespace roofmark::suite {
namespace {

// A sum of thirty weights that are given with six digits.
constexpr double kSumTolerance = 2e-5;

Result<WeightLabel> ParseLabel(const std::string& text) {
  for (const WeightLabel label :
       {WeightLabel::kPublished, WeightLabel::kMined, WeightLabel::kAssumed}) {
    if (WeightLabelName(label) == text) return label;
  }
  return Fail(ErrorKind::kInput,
              fmt::format("label = '{}' must be published, mined or assumed", text));
}

Result<OperatorShare> ReadShare(const std::string& op, const Json& table) {
  if (!table.is_object()) return Fail(ErrorKind::kInput, "must be a table");
  TRY(table.AllowKeys({"weight", "label", "provenance", "phases"}));
  OperatorShare share{.op = op,
                      .raw = TRY(table.Double("weight")),
                      .label = TRY(ParseLabel(TRY(table.String("label")))),
                      .provenance = TRY(table.String("provenance"))};
  if (!(share.raw > 0)) return Fail(ErrorKind::kInput, "weight must be over 0");
  if (table.Find("phases") == nullptr) return share;
  double sum = 0;
  const Json& phases = *TRY(table.ObjectAt("phases"));
  for (const auto& [name, unused] : phases.object()) {
    const double part = TRY(phases.Double(name));
    if (!(part >= 0)) return Fail(ErrorKind::kInput, "a phase's part must not be negative");
    share.phases[TRY(ParsePhase(name))] = part;
    sum += part;
  }
  if (std::fabs(sum - 1) > 1e-9) {
    return Fail(ErrorKind::kInput, fmt::format("phases add up to {}, not to 1", sum));
  }
  return share;
}

Result<ReportedResult> ReadReported(const Json& table) {
  if (!table.is_object()) return Fail(ErrorKind::kInput, "must be a table");
  ReportedResult result{.contestant = TRY(table.String("contestant")),
                        .note = TRY(table.String("note"))};
  for (const auto& [name, value] : table.object()) {
    if (name == "contestant" || name == "note") continue;
    if (!value.is_number()) {
      return Fail(ErrorKind::kInput, fmt::format("{} must be a number", name));
    }
    result.figures.emplace_back(name, value.as_double());
  }
  return result;
}

Result<void> ReadShares(const Json& document, SuiteFile* file) {
  double sum = 0;
  for (const auto& [op, table] : TRY(document.ObjectAt("operators"))->object()) {
    file->operators.push_back(TRY_IN(ReadShare(op, table), fmt::format("[operators.{}]", op)));
    sum += file->operators.back().raw;
  }
  file->raw_sum = TRY(document.Double("raw_sum"));
  if (std::fabs(sum - file->raw_sum) > kSumTolerance) {
    return Fail(ErrorKind::kInput,
                fmt::format("the weights add up to {}, and raw_sum says {}", sum, file->raw_sum));
  }
  for (OperatorShare& share : file->operators) share.share = share.raw / sum;
  std::ranges::stable_sort(file->operators, std::greater{}, &OperatorShare::share);
  return {};
}

Result<SuiteFile> ParseSuiteFile(const Json& document) {
  TRY(document.AllowKeys(
      {"name", "summary", "source", "tiers", "admission", "raw_sum", "operators", "reported"}));
  SuiteFile file{.name = TRY(document.String("name")),
                 .summary = TRY(document.String("summary")),
                 .source = TRY(document.String("source"))};
  for (const Json& tier : TRY(document.ArrayAt("tiers"))->array()) {
    if (!tier.is_string()) return Fail(ErrorKind::kInput, "tiers lists names");
    file.tiers.push_back(TRY(ParseTier(tier.as_string())));
  }
  if (file.tiers.empty()) return Fail(ErrorKind::kInput, "tiers is empty");
  if (document.Find("admission") != nullptr) file.admission = TRY(document.String("admission"));
  TRY(ReadShares(document, &file));
  if (document.Find("reported") == nullptr) return file;
  for (const Json& table : TRY(document.ArrayAt("reported"))->array()) {
    file.reported.push_back(TRY_IN(ReadReported(table), "[[reported]]"));
  }
  return file;
}

bool InTiers(const SuiteFile& file, const Shape& shape) {
  return std::ranges::find(file.tiers, shape.tier) != file.tiers.end();
}

// The share of one shape, and in words how it came about.
Result<Weight> WeightOf(const SuiteFile& file, const OperatorShare& share, const Operator& op,
                        const Shape& shape) {
  const auto peers = std::ranges::count_if(op.shapes, [&](const Shape& other) {
    return InTiers(file, other) && (share.phases.empty() || other.phase == shape.phase);
  });
  double part = 1;
  std::string how;
  if (!share.phases.empty()) {
    const auto phase = share.phases.find(shape.phase);
    if (phase == share.phases.end()) {
      return Fail(ErrorKind::kInput,
                  fmt::format("suite {}: [operators.{}] phases says nothing of {}, the phase of "
                              "shape {}",
                              file.name, op.name, PhaseName(shape.phase), shape.id));
    }
    part = phase->second;
    how = fmt::format(", {:g} of it assumed to be {}", part, PhaseName(shape.phase));
  }
  Weight weight;
  weight.value = share.share * part / static_cast<double>(peers);
  weight.low = weight.value;
  weight.high = weight.value;
  weight.label = peers == 1 && share.phases.empty() ? share.label : WeightLabel::kAssumed;
  weight.provenance =
      fmt::format("{} weight {} of {} ({}){}, split equally over {} shapes",
                  WeightLabelName(share.label), share.raw, op.name, share.provenance, how, peers);
  return weight;
}

// A part for a phase without shapes would be weight that no workload has.
Result<void> CheckPhases(const SuiteFile& file, const Suite& suite) {
  for (const OperatorShare& share : file.operators) {
    const Operator& op = *suite.FindOperator(share.op);
    for (const auto& [phase, part] : share.phases) {
      const bool has_shape = std::ranges::any_of(op.shapes, [&](const Shape& shape) {
        return InTiers(file, shape) && shape.phase == phase;
      });
      if (part > 0 && !has_shape) {
        return Fail(ErrorKind::kInput,
                    fmt::format("suite {}: [operators.{}] phases gives {} to {}, and no shape of "
                                "its tiers has that phase",
                                file.name, op.name, part, PhaseName(phase)));
      }
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> NamedSuites() {
  std::vector<std::string> names;
  const fs::path folder = TRY(DataDir()) / "suites";
  if (!fs::exists(folder)) return names;
  for (const fs::path& path : TRY(ListFolder(folder))) {
    if (path.extension() == ".toml") names.push_back(path.stem().string());
  }
  return names;
}

Result<bool> IsNamedSuite(const std::string& name) {
  const std::vector<std::string> names = TRY(NamedSuites());
  return std::ranges::find(names, name) != names.end();
}

Result<SuiteFile> ReadNamedSuite(const std::string& name) {
  const bool is_path = name.ends_with(".toml");
  if (!is_path && !TRY(IsNamedSuite(name))) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("there is no suite '{}' (known: {}; or the path of a .toml or of what "
                            "`suite build` wrote)",
                            name, fmt::join(TRY(NamedSuites()), ", ")));
  }
  const fs::path path = is_path ? fs::path(name) : TRY(DataDir()) / "suites" / (name + ".toml");
  SuiteFile file = TRY_IN(ParseSuiteFile(TRY(ReadToml(path))), path.string());
  if (file.name != path.stem().string()) {
    return Fail(ErrorKind::kInput,
                fmt::format("{}: name = '{}' must be the file's name", path.string(), file.name));
  }
  return file;
}

Result<Suite> MakeNamedSuite(const SuiteFile& file,
                             std::vector<std::unique_ptr<const Operator>> operators,
                             const Selection& selection) {
  Selection wanted = selection;
  if (wanted.tiers.empty()) wanted.tiers = file.tiers;
  Suite suite = TRY(MakeSuite(std::move(operators), wanted));
  suite.name = file.name;
  for (const OperatorShare& share : file.operators) {
    const Operator* const op = suite.FindOperator(share.op);
    if (op == nullptr || std::ranges::none_of(op->shapes, [&](const Shape& shape) {
          return InTiers(file, shape);
        })) {
      return Fail(ErrorKind::kInput,
                  fmt::format("suite {}: there is no shape of operator '{}' in its tiers",
                              file.name, share.op));
    }
  }
  TRY(CheckPhases(file, suite));
  std::erase_if(suite.workloads, [&](const Workload& workload) {
    return std::ranges::find(file.operators, workload.op->name, &OperatorShare::op) ==
               file.operators.end() ||
           !InTiers(file, workload.shape);
  });
  for (Workload& workload : suite.workloads) {
    const auto share = std::ranges::find(file.operators, workload.op->name, &OperatorShare::op);
    workload.weight = TRY(WeightOf(file, *share, *workload.op, workload.shape));
  }
  return suite;
}

Json ReportedToJson(const SuiteFile& file, const ReportedResult& result) {
  Json row = Json::MakeObject();
  row.Set("suite", file.name).Set("reported", result.contestant).Set("note", result.note);
  for (const auto& [name, value] : result.figures) row.Set(name, value);
  return row;
}

Result<Suite> LoadNamedSuite(const std::string& name, const Selection& selection) {
  return MakeNamedSuite(TRY(ReadNamedSuite(name)), TRY(ReadAllOperators()), selection);
}

}  // namespace roofmark::suite
