// SPDX-License-Identifier: Apache-2.0
#include "pipeline/record.h"

#include "gate/ledger.h"
#include "pipeline/identity.h"
#include "roofline/device_file.h"

namespace roofmark::pipeline {
namespace {

std::string KeyOf(const std::string& hash, const std::string& op, const std::string& shape) {
  return hash + " " + op + "/" + shape;
}

// Empty for runs of an older Roofmark, which did not say where they were made.
std::string MachineOf(const Json& details) {
  const Json* const machine = details.Find("machine");
  const Json* const id = machine == nullptr ? nullptr : machine->Find("id");
  return id != nullptr && id->is_string() ? id->as_string() : std::string();
}

}  // namespace

Result<Recorder> Recorder::Open(const std::filesystem::path& path, const Machine& machine,
                                const std::vector<Entry>& entries, const std::string& command,
                                const std::string& suite_name) {
  const gate::Stretch stretch(gate::Part::kStore);
  store::Store store = TRY(store::Store::Open(path, OpenMode::kReadWrite));
  for (const Entry& entry : entries) TRY(store.ArchiveCandidate(entry.candidate));
  const device::DeviceInfo& info = machine.device->info();
  Json details = Json::MakeObject()
                     .Set("kind", DeviceKindName(info.kind))
                     .Set("uuid", info.uuid)
                     .Set("driver", info.driver)
                     .Set("arch", info.arch)
                     .Set("cache_bytes", info.cache_bytes)
                     .Set("units", info.units);
  Json identity = DescribeMachine(info);
  std::string machine_id = identity.Find("id")->as_string();
  details.Set("machine", std::move(identity));
  if (machine.card) {
    TRY(store.AddDocument("device", info.name, roofline::DeviceCardToJson(*machine.card)));
  }
  store::RunInfo run{
      .command = command, .suite = suite_name, .device = info.name, .details = std::move(details)};
  return Recorder(std::move(store), std::move(run), std::move(machine_id));
}

Result<std::set<std::string>> Recorder::KnownUnder(const Json& details) const {
  std::set<int64_t> same;
  for (const store::RunInfo& run : TRY(store_.ReadRuns())) {
    const Json* const options = run.details.Find("options");
    if (options == nullptr || run.suite != info_.suite || run.device != info_.device) continue;
    if (MachineOf(run.details) == machine_id_ &&
        options->Dump() == details.Find("options")->Dump()) {
      same.insert(run.id);
    }
  }
  std::set<std::string> known;
  for (const store::StoredVerdict& stored :
       TRY(store_.ReadVerdicts({.device = info_.device}, store::History::kAll))) {
    const Verdict& verdict = stored.verdict;
    if (!same.contains(stored.run)) continue;
    known.insert(KeyOf(verdict.candidate_hash, verdict.operator_name, verdict.shape));
  }
  return known;
}

Result<void> Recorder::Use(const Json& options) {
  const gate::Stretch stretch(gate::Part::kStore);
  options_ = options.Dump();
  auto found = runs_.find(options_);
  if (found == runs_.end()) {
    Json details = info_.details;
    details.Set("options", options);
    Run run{.known = TRY(KnownUnder(details)), .details = std::move(details)};
    found = runs_.emplace(options_, std::move(run)).first;
  }
  return {};
}

// A run is kept from its first verdict on: one without any says nothing.
Result<int64_t> Recorder::RunId() {
  Run& run = runs_[options_];
  if (run.id == 0) {
    store::RunInfo info = info_;
    if (run.details.is_object()) info.details = run.details;
    run.id = TRY(store_.AddRun(info));
  }
  return run.id;
}

bool Recorder::Knows(const Candidate& candidate, const Workload& workload) const {
  return runs_.at(options_).known.contains(
      KeyOf(candidate.content_hash, workload.op->name, workload.shape.id));
}

Result<void> Recorder::Add(const Verdict& verdict) {
  const gate::Stretch stretch(gate::Part::kStore);
  ++count_;
  const int64_t run = TRY(RunId());
  if (verdict.evidence.Find("operator_files") == nullptr) {
    return store_.AddVerdicts(run, {&verdict, 1});
  }
  // The operator's files as they are, once a run: who edits them meanwhile judges by neither.
  const std::string folder = TRY(verdict.evidence.String("operator_files"));
  auto known = operator_files_.find(folder);
  if (known == operator_files_.end()) {
    known = operator_files_.emplace(folder, TRY(store_.ArchiveFolder(folder))).first;
  }
  Verdict kept = verdict;
  kept.evidence.Set("operator_files", known->second);
  return store_.AddVerdicts(run, {&kept, 1});
}

}  // namespace roofmark::pipeline
