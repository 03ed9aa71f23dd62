// SPDX-License-Identifier: Apache-2.0
// roofmark score: what the store's verdicts amount to, by operator and in all, for each contestant.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cli/args.h"
#include "cli/export_scores.h"
#include "cli/one_device.h"
#include "cli/reported.h"
#include "cli/selection.h"
#include "pipeline/identity.h"
#include "roofline/device_file.h"
#include "roofline/roofline.h"
#include "score/score.h"
#include "store/store.h"

namespace roofmark::cli {
namespace {

// The verdicts of one device: the named one, or the only one there is. `mixed` says openly where
// machines of that name are several.
Result<std::vector<Verdict>> VerdictsOf(const store::Store& store, const ScoreArgs& args,
                                        std::string* mixed) {
  std::vector<store::StoredVerdict> stored = TRY(store.ReadVerdicts(
      {.device = args.device, .mode = TRY(ParseMode(args.mode))}, store::History::kLatest));
  *mixed = TRY(pipeline::MixedMachines(store, stored));
  std::vector<Verdict> verdicts;
  for (store::StoredVerdict& one : stored) verdicts.push_back(std::move(one.verdict));
  std::set<std::string> devices;
  for (const Verdict& verdict : verdicts) devices.insert(verdict.device);
  TRY(OnlyDevice(args.store, args.device, devices));
  return verdicts;
}

// The card that `judge` kept with the verdicts, else the one shipped for the device.
Result<DeviceCard> CardOf(const store::Store& store, const std::string& device) {
  for (const store::Document& document : TRY(store.ReadDocuments("device"))) {
    if (document.name == device) return roofline::ParseDeviceCard(document.content);
  }
  return roofline::FindDeviceCard(device);
}

std::string Percent(double share) {
  return fmt::format("{:.0f} %", 100 * share);
}

void PrintRow(const score::ScoreRow& row) {
  std::string line = fmt::format(
      "{:20} {:8} {:.3f} [{:.3f}, {:.3f}]  {:7.4f}  {:>8}  {:>5} {:>7} {:>5}  {:>4} of {:<4}",
      row.op, row.phase ? PhaseName(*row.phase) : "", row.s.median, row.s.low, row.s.high,
      row.weight, row.adoption ? Percent(*row.adoption) : "-", Percent(row.pass.compile),
      Percent(row.pass.correctness), Percent(row.pass.performance), row.scored, row.workloads);
  if (row.fleet_time) {
    line += fmt::format("  fleet time {:.3f} [{:.3f}, {:.3f}] over {} of the weight",
                        row.fleet_time->median, row.fleet_time->low, row.fleet_time->high,
                        Percent(row.fleet_coverage));
  }
  fmt::print("{}\n", line);
}

// How much of the score rests on draws, and what other draws would change.
void PrintSampling(const score::SamplingError& sampling) {
  if (sampling.draws == 0) return;
  fmt::print(
      "  {} drawn workload{} stand{} for {} of the weight: the intervals hold what other "
      "draws would give (standard error of S {:.3f})\n",
      sampling.draws, sampling.draws == 1 ? "" : "s", sampling.draws == 1 ? "s" : "",
      Percent(sampling.drawn), sampling.error);
  if (sampling.unknown > 0) {
    fmt::print("  but not of {} of it, whose draws are too few to tell: build with more --shapes\n",
               Percent(sampling.unknown));
  }
}

void PrintTable(const std::vector<score::ScoreRow>& rows) {
  const score::ScoreRow* before = nullptr;
  for (const score::ScoreRow& row : rows) {
    if (before == nullptr || before->candidate != row.candidate || before->lane != row.lane ||
        before->role != row.role) {
      fmt::print("{}{} ({}{}) on {}, {} score\n", before == nullptr ? "" : "\n", row.candidate,
                 LaneName(row.lane), row.role == Role::kBaseline ? ", baseline" : "", row.device,
                 score::ScoreKindName(row.kind));
      fmt::print("{:20} {:8} {:22}  {:7}  {:8}  {:5} {:7} {:5}  {}\n", "operator", "phase",
                 "S [interval]", "weight", "adoption", "comp.", "correct", "perf.", "scored");
    }
    PrintRow(row);
    if (row.op == "all" && !row.phase) {
      if (row.phase_extremes) {
        fmt::print(
            "  if all weight were in the phase that scores least, or most: S {:.3f} to {:.3f}\n",
            row.phase_extremes->first, row.phase_extremes->second);
      }
      PrintSampling(row.sampling);
      for (const std::string& note : row.notes) fmt::print("  note: {}\n", note);
    }
    before = &row;
  }
}

// The released production latencies as one-sample verdicts: what this score makes of kernels that a
// fleet runs. They are scored and never stored.
Result<std::vector<Verdict>> ProductionVerdicts(const suite::Suite& suite, const DeviceCard& card,
                                                const std::string& contestant, double floor_ns) {
  std::vector<Verdict> verdicts;
  for (const Workload& workload : suite.workloads) {
    const auto& released = workload.shape.published.production_us;
    const auto found = released.find(card.name);
    if (found == released.end()) continue;
    double time_ns = found->second * 1000;
    if (floor_ns > 0) {
      time_ns = std::max(TRY(roofline::ComputePublishedSol(workload, card)).sol_ns, floor_ns);
    }
    Verdict verdict{.operator_name = workload.op->name,
                    .shape = workload.shape.id,
                    .phase = workload.shape.phase,
                    .candidate = contestant,
                    .lane = Lane::kTorch,
                    .role = Role::kBaseline,
                    .device = card.name};
    verdict.gate = Gate::kPerformance;
    verdict.outcome = Outcome::kPassed;
    verdict.samples_ns = {time_ns};
    verdicts.push_back(std::move(verdict));
  }
  if (verdicts.empty()) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("the release states no production latency for {} on these workloads; "
                            "it has them for XPU-A: --suite published-440 --device XPU-A",
                            card.name));
  }
  return verdicts;
}

void PrintRows(const std::vector<score::ScoreRow>& rows, Format format) {
  if (format == Format::kText) return PrintTable(rows);
  for (const score::ScoreRow& row : rows) fmt::print("{}\n", score::ScoreRowToJson(row).Dump());
}

// What the published score gives to production's own kernels, and to any kernel at all if no launch
// took less than kFloorNs.
Result<int> ScoreProduction(const ScoreArgs& args) {
  constexpr double kFloorNs = 5000;
  if (args.device.empty()) return Fail(ErrorKind::kUsage, "--production needs --device XPU-A");
  const DeviceCard card = TRY(roofline::FindDeviceCard(args.device));
  const suite::Suite suite = TRY(LoadSelection(args.selection, "published"));
  for (const double floor_ns : {0.0, kFloorNs}) {
    const std::string contestant =
        floor_ns > 0 ? fmt::format("any kernel, no time under {} us", floor_ns / 1000)
                     : "released production latencies";
    const std::vector<Verdict> verdicts =
        TRY(ProductionVerdicts(suite, card, contestant, floor_ns));
    PrintRows(TRY(score::ComputeScores(suite.workloads, verdicts, card,
                                       {.kind = score::ScoreKind::kPublished})),
              args.format);
    if (args.format == Format::kText) fmt::print("\n");
  }
  const std::string name = args.selection.suite.string();
  if (name.empty() || !TRY(suite::IsNamedSuite(name))) return 0;
  const suite::SuiteFile file = TRY(suite::ReadNamedSuite(name));
  for (const suite::ReportedResult& result : file.reported) {
    if (args.format == Format::kJson) {
      fmt::print("{}\n", suite::ReportedToJson(file, result).Dump());
    } else {
      fmt::print("reported, not measured here: {}\n", ReportedLine(result));
    }
  }
  return 0;
}

}  // namespace

Result<int> Score(const ScoreArgs& args) {
  if (args.production) return ScoreProduction(args);
  const store::Store store = TRY(store::Store::Open(args.store, OpenMode::kReadOnly));
  if (!args.export_as.empty()) return ExportScores(args, store);
  std::string mixed;
  const std::vector<Verdict> verdicts = TRY(VerdictsOf(store, args, &mixed));
  const DeviceCard card = TRY(CardOf(store, verdicts.front().device));
  // The verdicts say which tiers count: ScoreOptions::scope holds a contestant to those.
  const suite::Suite suite = TRY(LoadSelection(args.selection, "all"));
  std::vector<score::ScoreRow> rows = TRY(
      score::ComputeScores(suite.workloads, verdicts, card,
                           {.kind = TRY(score::ParseScoreKind(args.kind)),
                            .against = card.datasheet.present ? roofline::CeilingKind::kDatasheet
                                                              : roofline::CeilingKind::kMeasured,
                            .drawn = &suite.draws}));
  if (rows.empty()) {
    return Fail(ErrorKind::kNotFound,
                "the store has no verdict on the selected workloads; judge them, or select others "
                "with --operator, --shape and --tier");
  }
  for (score::ScoreRow& row : rows) {
    if (!mixed.empty() && row.op == "all" && !row.phase) row.notes.push_back(mixed);
  }
  PrintRows(rows, args.format);
  return 0;
}

}  // namespace roofmark::cli
