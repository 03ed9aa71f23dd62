// SPDX-License-Identifier: Apache-2.0
// roofmark report: everything that the store holds about one device, as a page for a person.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cli/args.h"
#include "cli/mined_totals.h"
#include "cli/one_device.h"
#include "cli/selection.h"
#include "pipeline/identity.h"
#include "report/report.h"
#include "roofline/device_file.h"
#include "roofline/roofline.h"
#include "score/score.h"
#include "store/store.h"

namespace roofmark::cli {
namespace {

std::string Detail(const Workload& workload) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : workload.shape.axes) {
    if (const auto* size = std::get_if<int64_t>(&value))
      parts.push_back(fmt::format("{}={}", name, *size));
    if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      const auto [least, most] = std::ranges::minmax(*list);
      parts.push_back(fmt::format("{}={} of {}..{}", name, list->size(), least, most));
    }
  }
  return Join(parts, " ");
}

report::Roof RoofOf(const Workload& workload, const DeviceCard& card,
                    roofline::CeilingKind against) {
  const roofline::SolTime sol =
      roofline::ComputeSol(workload, card, against, roofline::LaunchFloor::kWithout);
  return {.sol_ns = sol.sol_ns, .bound_by = sol.bound_by};
}

// Where a device has no card, nobody can tell which of the fleet's devices it is, and what another
// one needs says nothing of it.
double DeployedNs(const Workload& workload, const std::optional<DeviceCard>& card) {
  if (card) return score::MinedDeployedNs(workload, *card);
  return workload.deployed_by_device.empty() ? workload.deployed_ns : 0;
}

report::WorkloadRow RowOf(const Workload& workload, const std::optional<DeviceCard>& card) {
  report::WorkloadRow row{.op = workload.op->name,
                          .shape = workload.shape.id,
                          .phase = workload.shape.phase,
                          .detail = Detail(workload),
                          .weight = workload.weight,
                          .bytes = workload.traffic.Total(),
                          .deployed_ns = DeployedNs(workload, card)};
  for (size_t engine = 0; engine < kEngineCount; ++engine) {
    if (workload.work[engine] > row.ops) {
      row.ops = workload.work[engine];
      row.engine = static_cast<Engine>(engine);
    }
  }
  if (card && card->datasheet.present) {
    row.datasheet = RoofOf(workload, *card, roofline::CeilingKind::kDatasheet);
  }
  if (card && card->measured.present) {
    row.measured = RoofOf(workload, *card, roofline::CeilingKind::kMeasured);
  }
  return row;
}

report::ScoreRow RowOf(const score::ScoreRow& row) {
  return {.candidate = row.candidate,
          .lane = row.lane,
          .role = row.role,
          .op = row.op,
          .phase = row.phase,
          .kind = row.kind == score::ScoreKind::kPublished ? report::ScoreKind::kPublished
                                                           : report::ScoreKind::kRoofmark,
          .s = row.s.median,
          .low = row.s.low,
          .high = row.s.high,
          .weight = row.weight,
          .adoption = row.adoption,
          .pass = {row.pass.compile, row.pass.correctness, row.pass.performance},
          .fleet_time = row.fleet_time};
}

Result<void> AddScores(const suite::Suite& suite, const DeviceCard& card, report::Run* run) {
  for (const score::ScoreKind kind : {score::ScoreKind::kRoofmark, score::ScoreKind::kPublished}) {
    // The published score is defined against datasheet peaks alone.
    if (kind == score::ScoreKind::kPublished && !card.datasheet.present) continue;
    const score::ScoreOptions options{.kind = kind,
                                      .against = card.datasheet.present
                                                     ? roofline::CeilingKind::kDatasheet
                                                     : roofline::CeilingKind::kMeasured,
                                      .drawn = &suite.draws};
    for (const score::ScoreRow& row :
         TRY(score::ComputeScores(suite.workloads, run->verdicts, card, options))) {
      run->scores.push_back(RowOf(row));
    }
  }
  return {};
}

// The machine as the latest run on it recorded it, and the card that its attainments are against.
Result<void> AddMachine(const store::Store& store, const std::string& device,
                        const std::string& card, report::Run* run) {
  for (const store::RunInfo& info : TRY(store.ReadRuns())) {
    if (info.device != device) continue;
    run->date = info.date;
    if (const Json* driver = info.details.Find("driver");
        driver != nullptr && driver->is_string()) {
      run->driver = driver->as_string();
    }
  }
  for (const store::Document& document : TRY(store.ReadDocuments("device"))) {
    if (document.name == device) run->device = TRY(roofline::ParseDeviceCard(document.content));
  }
  if (!card.empty()) run->device = TRY(roofline::FindDeviceCard(card));
  return {};
}

// The workloads that were judged.
std::vector<const Workload*> Shown(const suite::Suite& suite,
                                   const std::vector<Verdict>& verdicts) {
  std::set<std::pair<std::string, std::string>> judged;
  for (const Verdict& verdict : verdicts) judged.emplace(verdict.operator_name, verdict.shape);
  std::vector<const Workload*> shown;
  for (const Workload& workload : suite.workloads) {
    if (judged.contains({workload.op->name, workload.shape.id})) shown.push_back(&workload);
  }
  return shown;
}

}  // namespace

Result<int> Report(const ReportArgs& args) {
  const store::Store store = TRY(store::Store::Open(args.store, OpenMode::kReadOnly));
  report::Run run{.title = "Is it ready for production?",
                  .suite = args.selection.suite.empty() ? "published weights"
                                                        : args.selection.suite.filename().string()};
  std::vector<store::StoredVerdict> all =
      TRY(store.ReadVerdicts({.mode = TRY(ParseMode(args.mode))}, store::History::kLatest));
  std::set<std::string> devices;
  for (const store::StoredVerdict& stored : all) devices.insert(stored.verdict.device);
  const std::string device =
      args.device.empty() ? TRY(OnlyDevice(args.store, args.device, devices)) : args.device;
  std::erase_if(
      all, [&](const store::StoredVerdict& stored) { return stored.verdict.device != device; });
  if (std::string mixed = TRY(pipeline::MixedMachines(store, all)); !mixed.empty()) {
    run.notes.push_back(std::move(mixed));
  }
  for (store::StoredVerdict& stored : all) run.verdicts.push_back(std::move(stored.verdict));
  if (run.verdicts.empty()) {
    return Fail(ErrorKind::kNotFound, "the store holds no verdicts of device '" + device + "'");
  }
  TRY(AddMachine(store, device, args.card, &run));
  const suite::Suite suite = TRY(LoadSelection(args.selection, "all"));
  for (const Workload* workload : Shown(suite, run.verdicts)) {
    run.workloads.push_back(RowOf(*workload, run.device));
  }
  if (run.device) TRY(AddScores(suite, *run.device, &run));
  if (!args.aggregate.empty()) run.mined = TRY(MinedTotals(args.aggregate));
  const report::Written written = TRY(report::WriteReport(run, args.out));
  fmt::print("report: {}\n", fs::absolute(written.html).lexically_normal().string());
  return 0;
}

}  // namespace roofmark::cli
