// SPDX-License-Identifier: Apache-2.0
// The report as Markdown: the same facts as the page, in the order in which a reader wants them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "report/markdown_table_internal.h"
#include "report/report.h"
#include "report/summary_internal.h"

namespace roofmark::report {
namespace {

constexpr size_t kHeaviest = 20;  // workloads in the weights table; the JSON has all

std::string Percent(double share) {
  return fmt::format("{:.1f} %", share * 100);
}
std::string Percent(const Interval& share) {
  return fmt::format("{:.1f} % ({:.1f} to {:.1f})", share.median * 100, share.low * 100,
                     share.high * 100);
}

template <typename T, typename Print>
std::string OrDash(const std::optional<T>& value, const Print& print) {
  return value ? print(*value) : "-";
}

std::string PercentOrDash(const std::optional<double>& share) {
  return OrDash(share, [](double s) { return Percent(s); });
}

std::string Factor(const Interval& ratio) {
  return fmt::format("{:.2f}x ({:.2f} to {:.2f})", ratio.median, ratio.low, ratio.high);
}

std::string NameOf(std::string_view name, Role role) {
  return std::string(name) + (role == Role::kBaseline ? " (baseline)" : "");
}

// Baselines are not asked to be ready.
std::string StandingText(const CandidateSummary& summary) {
  if (summary.role == Role::kCandidate) return std::string(StandingName(summary.standing));
  return summary.passed == summary.judged ? "passed" : "failed";
}

std::string LaneNames(const std::vector<Lane>& lanes) {
  std::vector<std::string> names;
  for (const Lane lane : lanes) names.emplace_back(LaneName(lane));
  return Join(names, ", ");
}

std::string Section(std::string_view title, const std::string& body) {
  return body.empty() ? "" : fmt::format("\n## {}\n\n{}", title, body);
}

std::string CandidateTable(const std::vector<CandidateSummary>& candidates) {
  MarkdownTable table({{"candidate"},
                       {"lane"},
                       {"standing"},
                       {"S", Align::kRight},
                       {"adoption", Align::kRight},
                       {"fleet time", Align::kRight},
                       {"passed", Align::kRight},
                       {"what failed, what is missing"}});
  for (const CandidateSummary& c : candidates) {
    std::string missing = FailureText(c);
    for (const std::string& reason : c.reasons) missing += (missing.empty() ? "" : "; ") + reason;
    table.Add({NameOf(c.candidate, c.role), LaneNames(c.lanes), StandingText(c),
               OrDash(c.total,
                      [](const ScoreRow& t) {
                        return Percent(Interval{.median = t.s, .low = t.low, .high = t.high});
                      }),
               c.total ? PercentOrDash(c.total->adoption) : "-",
               c.total ? OrDash(c.total->fleet_time, Factor) : "-",
               fmt::format("{}/{}", c.passed, c.judged), missing});
  }
  return table.Print();
}

std::string ScoreTable(const Run& run, ScoreKind kind) {
  MarkdownTable table({{"operator"},
                       {"phase"},
                       {"candidate"},
                       {"S", Align::kRight},
                       {"low", Align::kRight},
                       {"high", Align::kRight},
                       {"weight", Align::kRight},
                       {"adoption", Align::kRight},
                       {"compile", Align::kRight},
                       {"correctness", Align::kRight},
                       {"performance", Align::kRight},
                       {"fleet time", Align::kRight}});
  for (const ScoreRow& row : run.scores) {
    if (row.kind != kind) continue;
    table.Add({row.op, row.phase ? std::string(PhaseName(*row.phase)) : "all",
               NameOf(row.candidate, row.role), Percent(row.s), Percent(row.low), Percent(row.high),
               Percent(row.weight), PercentOrDash(row.adoption), Percent(row.pass.compile),
               Percent(row.pass.correctness), Percent(row.pass.performance),
               OrDash(row.fleet_time, Factor)});
  }
  return table.Print();
}

std::string VerdictTable(const Run& run) {
  MarkdownTable table({{"outcome"},
                       {"gate"},
                       {"operator"},
                       {"shape"},
                       {"phase"},
                       {"candidate"},
                       {"time", Align::kRight},
                       {"attainment", Align::kRight},
                       {"adoption", Align::kRight},
                       {"reason"}});
  for (const size_t i : VerdictOrder(run)) {
    const Verdict& v = run.verdicts[i];
    table.Add({std::string(OutcomeName(v.outcome)), std::string(GateName(v.gate)), v.operator_name,
               v.shape, std::string(PhaseName(v.phase)), NameOf(v.candidate, v.role),
               OrDash(v.time_ns, [](const Interval& t) { return HumanTime(t.median); }) +
                   (v.launch_bound.value_or(false) ? ", launch-bound" : ""),
               OrDash(v.attainment, [](const Interval& a) { return Percent(a); }),
               OrDash(v.shares, [](const Shares& s) { return Percent(Adoption(s)); }), v.reason});
  }
  return table.Print();
}

std::string OwnerTable(const Run& run) {
  MarkdownTable table({{"operator"},
                       {"candidate"},
                       {"own", Align::kRight},
                       {"dsl", Align::kRight},
                       {"vendor", Align::kRight},
                       {"framework", Align::kRight},
                       {"compiler", Align::kRight},
                       {"prebuilt", Align::kRight},
                       {"runtime", Align::kRight},
                       {"unknown", Align::kRight}});
  static_assert(kOwnerCount == 8);
  for (const OwnerRow& row : OwnerRows(run)) {
    std::vector<std::string> cells = {row.op, NameOf(row.candidate, row.role)};
    for (const double share : row.shares) cells.push_back(Percent(share));
    table.Add(cells);
  }
  return table.Print();
}

std::string WeightTable(const Run& run) {
  std::vector<const WorkloadRow*> rows;
  for (const WorkloadRow& row : run.workloads) {
    if (row.weight.value > 0) rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, std::greater<>(),
                           [](const WorkloadRow* row) { return row->weight.value; });
  rows.resize(std::min(rows.size(), kHeaviest));
  MarkdownTable table({{"operator"},
                       {"shape"},
                       {"phase"},
                       {"weight", Align::kRight},
                       {"low", Align::kRight},
                       {"high", Align::kRight},
                       {"label"},
                       {"SOL time", Align::kRight},
                       {"bound by"},
                       {"axes"}});
  for (const WorkloadRow* row : rows) {
    const Roof& roof = row->datasheet.sol_ns > 0 ? row->datasheet : row->measured;
    table.Add({row->op, row->shape, std::string(PhaseName(row->phase)), Percent(row->weight.value),
               Percent(row->weight.low), Percent(row->weight.high),
               std::string(WeightLabelName(row->weight.label)),
               roof.sol_ns > 0 ? HumanTime(roof.sol_ns) : "-", roof.bound_by, row->detail});
  }
  return table.Print();
}

std::string MinedText(const MinedTotals& mined) {
  const double share = mined.gpu_ns > 0 ? mined.unattributed_ns / mined.gpu_ns : 0;
  std::string text = fmt::format(
      "{} profile{}, {} of exposed GPU time, {} of it unattributed; the profilers lost {} of their "
      "events.\n",
      mined.profiles, mined.profiles == 1 ? "" : "s", HumanTime(mined.gpu_ns), Percent(share),
      Percent(mined.loss));
  MarkdownTable table({{"unattributed kernel"}, {"time", Align::kRight}});
  for (const auto& [kernel, ns] : mined.unattributed) table.Add({kernel, HumanTime(ns)});
  const std::string kernels = table.Print();
  return kernels.empty() ? text : text + "\n" + kernels;
}

std::string ProvenanceText(const Run& run) {
  MarkdownTable table({{"what"}, {"value"}});
  const auto add = [&](const std::string& what, const std::string& value) {
    if (!value.empty()) table.Add({what, value});
  };
  add("date", run.date);
  add("suite", run.suite);
  if (run.device) {
    add("device", run.device->name + (run.device->arch.empty() ? "" : ", " + run.device->arch));
    add("measured ceilings", run.device->measured.present ? run.device->measured_note : "none");
  }
  add("driver", run.driver);
  for (const auto& [name, version] : run.versions) add(name, version);
  add("level", run.level);
  for (const std::string& note : run.notes) add("note", note);
  return table.Print();
}

}  // namespace

std::string ToMarkdown(const Run& run) {
  const std::vector<CandidateSummary> candidates = Summarise(run);
  const Headline headline = MakeHeadline(run, candidates);
  std::string out =
      fmt::format("# {}\n\n**{}**", EscapeMarkdown(run.title), EscapeMarkdown(headline.sentence));
  out += headline.detail.empty() ? "\n" : fmt::format(": {}\n", EscapeMarkdown(headline.detail));
  const std::string summary = CandidateTable(candidates);
  if (!summary.empty()) out += "\n" + summary;
  out += Section("Scores (roofmark)", ScoreTable(run, ScoreKind::kRoofmark));
  out += Section("Scores (published)", ScoreTable(run, ScoreKind::kPublished));
  out += Section("Device time by owner", OwnerTable(run));
  out += Section("Verdicts", VerdictTable(run));
  out += Section("Heaviest workloads", WeightTable(run));
  if (run.mined) out += Section("Mined", MinedText(*run.mined));
  out += Section("Provenance", ProvenanceText(run));
  return out;
}

}  // namespace roofmark::report
