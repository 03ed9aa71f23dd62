// SPDX-License-Identifier: Apache-2.0
#include "pipeline/record.h"

#include "gate/ledger.h"
#include "roofline/device_file.h"

namespace roofmark::pipeline {
namespace {

std::string KeyOf(const std::string& hash, const std::string& op, const std::string& shape) {
  return hash + " " + op + "/" + shape;
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
  if (machine.card) {
    TRY(store.AddDocument("device", info.name, roofline::DeviceCardToJson(*machine.card)));
  }
  store::RunInfo run{
      .command = command, .suite = suite_name, .device = info.name, .details = std::move(details)};
  const int64_t id = TRY(store.AddRun(run));
  return Recorder(std::move(store), std::move(run), id);
}

Result<std::set<std::string>> Recorder::KnownUnder(const Json& details) const {
  std::set<int64_t> same;
  for (const store::RunInfo& run : TRY(store_.ReadRuns())) {
    const Json* const options = run.details.Find("options");
    const Json* const uuid = run.details.Find("uuid");
    if (options == nullptr || uuid == nullptr || run.suite != info_.suite) continue;
    if (run.device == info_.device && uuid->Dump() == details.Find("uuid")->Dump() &&
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
    store::RunInfo info = info_;
    info.details.Set("options", options);
    Run run{.known = TRY(KnownUnder(info.details))};
    run.id = TRY(store_.AddRun(info));
    found = runs_.emplace(options_, std::move(run)).first;
  }
  run_ = found->second.id;
  return {};
}

bool Recorder::Knows(const Candidate& candidate, const Workload& workload) const {
  return runs_.at(options_).known.contains(
      KeyOf(candidate.content_hash, workload.op->name, workload.shape.id));
}

Result<void> Recorder::Add(const Verdict& verdict) {
  const gate::Stretch stretch(gate::Part::kStore);
  ++count_;
  return store_.AddVerdicts(run_, {&verdict, 1});
}

}  // namespace roofmark::pipeline
