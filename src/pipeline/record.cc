// SPDX-License-Identifier: Apache-2.0
#include "pipeline/record.h"

#include "gate/ledger.h"
#include "pipeline/identity.h"
#include "roofline/device_file.h"

namespace roofmark::pipeline {

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
  const int64_t run = TRY(store.AddRun({.command = command,
                                        .suite = suite_name,
                                        .device = info.name,
                                        .details = std::move(details)}));
  return Recorder(std::move(store), run, std::move(machine_id));
}

Result<void> Recorder::Add(const Verdict& verdict) {
  const gate::Stretch stretch(gate::Part::kStore);
  ++count_;
  if (verdict.evidence.Find("operator_files") == nullptr) {
    return store_.AddVerdicts(run_, {&verdict, 1});
  }
  // The operator's files as they are, once a run: who edits them meanwhile judges by neither.
  const std::string folder = TRY(verdict.evidence.String("operator_files"));
  auto known = operator_files_.find(folder);
  if (known == operator_files_.end()) {
    known = operator_files_.emplace(folder, TRY(store_.ArchiveFolder(folder))).first;
  }
  Verdict kept = verdict;
  kept.evidence.Set("operator_files", known->second);
  return store_.AddVerdicts(run_, {&kept, 1});
}

}  // namespace roofmark::pipeline
