// SPDX-License-Identifier: Apache-2.0
#include "cli/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/files.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "pipeline/lint_suite.h"

namespace roofmark::cli {
namespace {

// What was found of one operator.
struct Tally {
  int64_t workloads = 0;
  int64_t admitted = 0;
  int64_t left_out = 0;
  double worst_honest = 0;
  std::string worst_honest_program;
  std::optional<double> nearest_wrong;
  std::string nearest_wrong_program;
};

void Count(const pipeline::LintFinding& finding, Tally* tally) {
  ++tally->workloads;
  if (!finding.admission) {
    if (!finding.left_out.empty()) ++tally->left_out;
    return;
  }
  const gate::Admission& found = *finding.admission;
  if (found.admitted()) ++tally->admitted;
  if (found.worst_honest && found.worst_honest->ratio >= tally->worst_honest) {
    tally->worst_honest = found.worst_honest->ratio;
    tally->worst_honest_program = found.worst_honest->program;
  }
  if (found.nearest_wrong &&
      (!tally->nearest_wrong || found.nearest_wrong->ratio < *tally->nearest_wrong)) {
    tally->nearest_wrong = found.nearest_wrong->ratio;
    tally->nearest_wrong_program = found.nearest_wrong->program;
  }
}

void PrintFaults(const pipeline::LintFinding& finding) {
  const std::string id = finding.workload->Id();
  if (!finding.admission) {
    if (!finding.left_out.empty()) fmt::print("{}: not tried: {}\n", id, finding.left_out);
    return;
  }
  for (const std::string& fault : finding.admission->faults) fmt::print("{}: {}\n", id, fault);
  for (const std::string& text : finding.admission->not_tried) {
    fmt::print("{}: program not tried: {}\n", id, text);
  }
}

void PrintTallies(const std::map<std::string, Tally>& tallies) {
  fmt::print("\nMargins in units of the bound: honest programs stay below 1, wrong ones above.\n");
  fmt::print("{:30} {:>9} {:>8}  {:44} {}\n", "operator", "workloads", "admitted",
             "honest program nearest to the bound", "wrong program nearest to it");
  for (const auto& [name, tally] : tallies) {
    const std::string honest =
        fmt::format("{:.3f} {}", tally.worst_honest, tally.worst_honest_program);
    const std::string wrong = tally.nearest_wrong
                                  ? fmt::format("{:.3g} {}", std::min(*tally.nearest_wrong, 1e9),
                                                tally.nearest_wrong_program)
                                  : "-";
    fmt::print("{:30} {:>9} {:>8}  {:44} {}\n", name, tally.workloads, tally.admitted, honest,
               wrong);
  }
}

}  // namespace

Result<int> LintSuite(const SuiteArgs& args) {
  Selection selection = args.selection;
  selection.suite = args.name;
  const suite::Suite suite = TRY(LoadSelection(selection, "all"));
  const DeviceKind kind = args.device == "cuda" ? DeviceKind::kCuda : DeviceKind::kCpu;
  std::map<std::string, Tally> tallies;
  std::string lines;
  int64_t refused = 0;
  int64_t left_out = 0;
  double seconds = 0;
  Progress progress("linting");
  const auto sink = [&](const pipeline::LintFinding& finding, size_t done, size_t total) {
    progress.Show(done, total, finding.workload->Id());
    const std::string line = pipeline::LintFindingToJson(finding).Dump() + "\n";
    lines += line;
    if (finding.admission && !finding.admission->admitted()) ++refused;
    if (!finding.left_out.empty()) ++left_out;
    seconds += finding.seconds;
    Count(finding, &tallies[finding.workload->op->name]);
    if (args.format == Format::kJson) {
      fmt::print("{}", line);
    } else {
      PrintFaults(finding);
    }
  };
  const Result<void> linted = pipeline::LintSuite(
      suite.workloads,
      {.device = kind, .regimes = args.regimes, .references_only = args.references_only}, sink);
  if (!args.out.empty()) TRY(WriteFile(args.out, lines));  // what there is, also before an error
  TRY(linted);
  if (args.format == Format::kText && args.references_only) {
    fmt::print("{} workloads: the references of all but {} ran, in {:.1f} s\n",
               suite.workloads.size(), left_out, seconds);
  } else if (args.format == Format::kText) {
    PrintTallies(tallies);
    fmt::print("\n{} workloads: {} admitted, {} not, {} not tried\n", suite.workloads.size(),
               static_cast<int64_t>(suite.workloads.size()) - refused - left_out, refused,
               left_out);
  }
  return refused == 0 ? 0 : 1;
}

}  // namespace roofmark::cli
