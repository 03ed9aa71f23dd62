// SPDX-License-Identifier: Apache-2.0
// roofmark score: what the store's verdicts amount to, by operator and in all, for each contestant.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cli/args.h"
#include "cli/selection.h"
#include "roofline/device_file.h"
#include "score/score.h"
#include "store/store.h"

namespace roofmark::cli {
namespace {

// The verdicts of one device: the named one, or the only one there is.
Result<std::vector<Verdict>> VerdictsOf(const store::Store& store, const ScoreArgs& args) {
  std::vector<Verdict> verdicts = TRY(store.LatestVerdicts({.device = args.device}));
  std::set<std::string> devices;
  for (const Verdict& verdict : verdicts) devices.insert(verdict.device);
  if (devices.empty()) {
    return Fail(
        ErrorKind::kNotFound,
        args.device.empty()
            ? fmt::format("{} holds no verdicts; run `roofmark judge` first", args.store.string())
            : fmt::format("{} holds no verdicts of device '{}'", args.store.string(), args.device));
  }
  if (devices.size() > 1) {
    return Fail(ErrorKind::kUsage,
                fmt::format("the store holds verdicts of several devices; choose with --device: {}",
                            fmt::join(devices, ", ")));
  }
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
      for (const std::string& note : row.notes) fmt::print("  note: {}\n", note);
    }
    before = &row;
  }
}

}  // namespace

Result<int> Score(const ScoreArgs& args) {
  const store::Store store = TRY(store::Store::Open(args.store, OpenMode::kReadOnly));
  const std::vector<Verdict> verdicts = TRY(VerdictsOf(store, args));
  const DeviceCard card = TRY(CardOf(store, verdicts.front().device));
  // The verdicts say which tiers count: ScoreOptions::scope holds a contestant to those.
  const suite::Suite suite = TRY(LoadSelection(args.selection, "all"));
  const std::vector<score::ScoreRow> rows = TRY(
      score::ComputeScores(suite.workloads, verdicts, card,
                           {.kind = TRY(score::ParseScoreKind(args.kind)),
                            .against = card.datasheet.present ? roofline::CeilingKind::kDatasheet
                                                              : roofline::CeilingKind::kMeasured}));
  if (rows.empty()) {
    return Fail(ErrorKind::kNotFound,
                "the store has no verdict on the selected workloads; judge them, or select others "
                "with --operator, --shape and --tier");
  }
  if (args.format == Format::kJson) {
    for (const score::ScoreRow& row : rows) fmt::print("{}\n", score::ScoreRowToJson(row).Dump());
  } else {
    PrintTable(rows);
  }
  return 0;
}

}  // namespace roofmark::cli
