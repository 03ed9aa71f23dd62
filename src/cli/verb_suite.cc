// SPDX-License-Identifier: Apache-2.0
// roofmark suite: operators and their workloads as they are, or weights from a mined aggregate.
#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/lint.h"
#include "cli/mined_suite_table.h"
#include "cli/reported.h"
#include "suite/named_suite.h"
#include "suite/refresh.h"
#include "suite/suite.h"

namespace roofmark::cli {
namespace {

Json OperatorRow(const Operator& op) {
  std::map<Tier, int64_t> tiers;
  for (const Shape& shape : op.shapes) ++tiers[shape.tier];
  Json row = Json::MakeObject();
  row.Set("operator", op.name).Set("summary", op.summary);
  row.Set("weight_published", op.weight_published);
  for (const Tier tier : {Tier::kPublished, Tier::kCorrected, Tier::kSmall, Tier::kImported}) {
    row.Set(TierName(tier), tiers[tier]);
  }
  return row;
}

Result<int> List(const SuiteArgs& args) {
  const suite::Suite suite = TRY(suite::LoadSuite({}, args.selection.operators_folder));
  if (args.format == Format::kText) {
    fmt::print("suites: {}\n\n", fmt::join(TRY(suite::NamedSuites()), ", "));
    fmt::print("{:30} {:>8} {:>9} {:>9} {:>5} {:>8}  {}\n", "operator", "weight", "published",
               "corrected", "small", "imported", "summary");
  }
  for (const auto& op : suite.operators) {
    const Json row = OperatorRow(*op);
    if (args.format == Format::kJson) {
      fmt::print("{}\n", row.Dump());
      continue;
    }
    fmt::print("{:30} {:>8.4f} {:>9} {:>9} {:>5} {:>8}  {}\n", op->name, op->weight_published,
               row.Find("published")->as_int(), row.Find("corrected")->as_int(),
               row.Find("small")->as_int(), row.Find("imported")->as_int(), op->summary);
  }
  return 0;
}

// The operators of a suite by weight, with what the largest of them cover together.
Result<int> ShowSuite(const SuiteArgs& args) {
  const suite::SuiteFile file = TRY(suite::ReadNamedSuite(args.name));
  const suite::Suite suite = TRY(suite::MakeNamedSuite(file, TRY(suite::ReadAllOperators()), {}));
  std::map<std::string, int64_t> shapes;
  for (const Workload& workload : suite.workloads) ++shapes[workload.op->name];
  if (args.format == Format::kText) {
    fmt::print("{}: {}\n{}\n{} workloads of {} operators; raw weights add up to {}\n\n", file.name,
               file.summary, file.source, suite.workloads.size(), file.operators.size(),
               file.raw_sum);
    if (!file.admission.empty()) {
      fmt::print("admission programs and their margins: {}\n", file.admission);
    }
    fmt::print("{:4} {:32} {:>8} {:>8} {:>9} {:>7}  {}\n", "", "operator", "raw", "share",
               "covered", "shapes", "weight from");
  }
  double covered = 0;
  int64_t rank = 0;
  for (const suite::OperatorShare& share : file.operators) {
    covered += share.share;
    ++rank;
    if (args.format == Format::kText) {
      fmt::print("{:4} {:32} {:>8.6f} {:>6.2f} % {:>7.1f} % {:>7}  {}: {}\n", rank, share.op,
                 share.raw, 100 * share.share, 100 * covered, shapes[share.op],
                 WeightLabelName(share.label), share.provenance);
      continue;
    }
    fmt::print("{}\n", Json::MakeObject()
                           .Set("suite", file.name)
                           .Set("rank", rank)
                           .Set("operator", share.op)
                           .Set("raw_weight", share.raw)
                           .Set("weight", share.share)
                           .Set("covered", covered)
                           .Set("shapes", shapes[share.op])
                           .Set("label", WeightLabelName(share.label))
                           .Set("provenance", share.provenance)
                           .Dump());
  }
  for (const suite::ReportedResult& result : file.reported) {
    if (args.format == Format::kText) {
      if (&result == &file.reported.front())
        fmt::print("\nReported by others, not measured here:\n");
      fmt::print("  {}\n", ReportedLine(result));
    } else {
      fmt::print("{}\n", suite::ReportedToJson(file, result).Dump());
    }
  }
  return 0;
}

// A suite that `suite build` wrote.
Result<int> ShowMined(const SuiteArgs& args) {
  const std::string where = "reading suite " + args.name;
  const Json suite = TRY(ReadJson(args.name));
  const Json* format = suite.Find("format");
  if (format != nullptr && format->is_string() &&
      format->as_string().starts_with("roofmark-aggregate/")) {
    return Fail(ErrorKind::kInput,
                where +
                    ": it is an aggregate; `suite build` makes a suite of it, and `mine` shows "
                    "what it holds");
  }
  TRY_IN(suite::ShapesOfSuite(suite), where);
  if (args.format == Format::kJson) {
    for (const Json& workload : suite.Find("workloads")->array()) {
      fmt::print("{}\n", workload.Dump());
    }
    return 0;
  }
  TRY_IN(PrintMinedSuite(suite), where + ", perhaps of an older version: build it again");
  TRY_IN(PrintMinedWorkloads(suite), where);
  return 0;
}

Result<int> Show(const SuiteArgs& args) {
  if (args.name.empty()) {
    return Fail(ErrorKind::kUsage,
                "suite show needs an operator or a suite: roofmark suite show published-440");
  }
  if (args.name.ends_with(".json")) return ShowMined(args);
  // An operator may have the name of a folder.
  if (fs::exists(fs::path(args.name) / "MANIFEST.json")) {
    return Fail(ErrorKind::kUsage,
                fmt::format("{} is a release: `suite verify {}` says whether it is whole, and "
                            "`roofline --suite {}` lists its workloads",
                            args.name, args.name, args.name));
  }
  if (args.name.ends_with(".toml") || TRY(suite::IsNamedSuite(args.name))) return ShowSuite(args);
  const suite::Suite suite =
      TRY_IN(suite::LoadSuite({.operators = {args.name}}, args.selection.operators_folder),
             fmt::format("no suite has this name (suites: {})",
                         fmt::join(TRY(suite::NamedSuites()), ", ")));
  const Operator& op = *suite.FindOperator(args.name);
  if (args.format == Format::kText) {
    fmt::print("{}: {}\n{}\n\n{:24} {:10} {:8} {:>12}  {}\n", op.name, op.summary, op.source,
               "shape", "tier", "phase", "traffic", "axes");
  }
  for (const Workload& workload : suite.workloads) {
    const Shape& shape = workload.shape;
    if (args.format == Format::kText) {
      std::string axes = AxesToJson(shape.axes).Dump();
      constexpr size_t kWidth = 90;
      if (axes.size() > kWidth) axes = axes.substr(0, kWidth) + "...";
      fmt::print("{:24} {:10} {:8} {:>12}  {}\n", shape.id, TierName(shape.tier),
                 PhaseName(shape.phase), HumanBytes(workload.traffic.Total()), axes);
      continue;
    }
    Json row = Json::MakeObject();
    row.Set("operator", op.name).Set("shape", shape.id).Set("tier", TierName(shape.tier));
    row.Set("phase", PhaseName(shape.phase)).Set("axes", AxesToJson(shape.axes));
    row.Set("weight", workload.weight.value);
    row.Set("traffic_bytes", workload.traffic.Total());
    fmt::print("{}\n", row.Dump());
  }
  return 0;
}

}  // namespace

Result<int> Suite(const SuiteArgs& args) {
  if (args.action == "list") return List(args);
  if (args.action == "show") return Show(args);
  if (args.action == "import") return ImportSuite(args);
  if (args.action == "lint") return LintSuite(args);
  if (args.action == "release") return ReleaseSuite(args);
  if (args.action == "verify") return VerifyRelease(args);
  if (args.action == "diff") return DiffSuite(args);
  return BuildSuite(args);
}

}  // namespace roofmark::cli
