// SPDX-License-Identifier: Apache-2.0
#include "pipeline/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iterator>

#include "gate/contestant.h"
#include "gate/cpu_stopwatch.h"
#include "gate/cuda_stopwatch.h"
#include "gate/evidence.h"
#include "gate/ledger.h"
#include "gate/memory_watch.h"
#include "pipeline/held_verdicts.h"
#include "pipeline/prepare.h"
#include "roofline/device_file.h"
#include "roofline/roofline.h"

namespace roofmark::pipeline {
namespace {

// A workload that this machine cannot hold is not the candidates' fault, and must not end the run.
std::vector<Verdict> Unsupported(const Workload& workload, const Field& field,
                                 const std::string& reason) {
  std::vector<Verdict> verdicts;
  for (gate::Contestant* contestant : field.all) {
    if (contestant->StartVerdict(workload)) {
      contestant->Refuse(Gate::kCorrectness, Outcome::kUnsupported, reason);
    }
    verdicts.push_back(contestant->verdict);
  }
  return verdicts;
}

// One operator with its candidates and its workloads.
struct Group {
  std::vector<const Workload*> workloads;
  std::vector<Entry> entries;
};

// In the order in which operators appear among the entries.
Result<std::vector<Group>> GroupsOf(const std::vector<Workload>& workloads,
                                    const std::vector<Entry>& entries) {
  std::vector<std::string> operators;
  for (const Entry& entry : entries) {
    if (std::ranges::find(operators, entry.operator_name) == operators.end()) {
      operators.push_back(entry.operator_name);
    }
  }
  std::vector<Group> groups;
  for (const std::string& name : operators) {
    Group group;
    for (const Workload& workload : workloads) {
      if (workload.op->name == name) group.workloads.push_back(&workload);
    }
    if (group.workloads.empty()) {
      return Fail(ErrorKind::kInput, "no workload of operator " + name + " is selected");
    }
    std::ranges::copy_if(entries, std::back_inserter(group.entries),
                         [&](const Entry& entry) { return entry.operator_name == name; });
    groups.push_back(std::move(group));
  }
  return groups;
}

// A card that was asked for must exist; one that would only be nice need not.
Result<std::optional<DeviceCard>> CardOf(const std::string& card, const std::string& device_name) {
  Result<DeviceCard> found = roofline::FindDeviceCard(card.empty() ? device_name : card);
  if (found) return std::optional<DeviceCard>(std::move(*found));
  if (card.empty() && found.error().kind() == ErrorKind::kNotFound)
    return std::optional<DeviceCard>();
  return std::unexpected(found.error());
}

}  // namespace

Result<Machine> OpenMachine(DeviceKind kind, const std::string& card) {
  Machine machine;
  machine.device = TRY(kind == DeviceKind::kCpu ? device::OpenCpu() : device::OpenCuda());
  machine.stopwatch = TRY(kind == DeviceKind::kCpu ? gate::MakeCpuStopwatch()
                                                   : gate::MakeCudaStopwatch(*machine.device));
  machine.card = TRY(CardOf(card, machine.device->info().name));
  return machine;
}

gate::Sol SolOf(const Workload& workload, const Machine& machine) {
  if (!machine.card) return {};
  const bool datasheet = machine.card->datasheet.present;
  const roofline::SolTime sol = roofline::ComputeSol(
      workload, *machine.card,
      datasheet ? roofline::CeilingKind::kDatasheet : roofline::CeilingKind::kMeasured,
      roofline::LaunchFloor::kWithout);
  const double floor_s = machine.card->measured.launch_floor_s > 0
                             ? machine.card->measured.launch_floor_s
                             : machine.card->datasheet.launch_floor_s;
  return {
      .ns = sol.sol_ns, .against = datasheet ? "datasheet" : "measured", .floor_ns = 1e9 * floor_s};
}

Result<std::optional<device::Lease>> TakeTurn(
    const Machine& machine, const std::function<void(const std::string&)>& waiting) {
  const device::DeviceInfo& device = machine.device->info();
  if (device.kind != DeviceKind::kCuda) return std::optional<device::Lease>();
  const gate::Stretch stretch(gate::Part::kWaiting);
  return std::optional<device::Lease>(TRY(device::Lease::Take(device, waiting)));
}

namespace {

Result<std::vector<Verdict>> JudgeOne(const Workload& workload, const Field& field,
                                      References* references, const Machine& machine,
                                      const gate::JudgeOptions& options,
                                      std::optional<int64_t> free_bytes) {
  const Operator& op = *workload.op;
  const gate::Bench bench{*machine.device, *TRY(references->Get(op)), *machine.stopwatch};
  Result<std::vector<Verdict>> verdicts =
      gate::JudgeWorkload(workload, SolOf(workload, machine), field.all, bench, options);
  if (!verdicts && verdicts.error().kind() == ErrorKind::kDevice) {
    verdicts = Unsupported(workload, field, verdicts.error().message());
    for (Verdict& verdict : *verdicts) {
      gate::AddCircumstances(workload, machine.device->info().kind, SolOf(workload, machine),
                             options, "", &verdict.evidence);
    }
    // What failed may have left workers and the device in any state. On a device that is not as
    // it was, nothing more is judged: the next candidate would pay for the last one.
    for (gate::Contestant* contestant : field.all) contestant->Restart();
    references->Drop(op);
    TRY(gate::CheckHealth(*machine.device, free_bytes));
  }
  return TRY_IN(std::move(verdicts), workload.Id());
}

}  // namespace

Result<void> EvaluateField(const std::vector<const Workload*>& workloads, const Field& field,
                           References* references, const Machine& machine,
                           gate::JudgeOptions options, HeldVerdicts* verdicts, size_t* done) {
  const Operator& op = *workloads.front()->op;
  const gate::Stretch shared(gate::Part::kOther, op.name);
  if (field.baseline) options.baseline = field.all[*field.baseline];
  options.settle = false;
  // What must be free again once these candidates and their reference have ended; references of
  // other operators may stay as they are.
  const std::optional<int64_t> free_bytes = TRY(machine.device->FreeMemory());
  for (const Workload* workload : workloads) {
    std::vector<Verdict> judged =
        TRY(JudgeOne(*workload, field, references, machine, options, free_bytes));
    std::vector<HeldVerdicts::Awaited> awaited(judged.size());
    for (size_t i = 0; i < judged.size(); ++i) {
      gate::Contestant& contestant = *field.all[i];
      if (contestant.code.empty()) continue;
      awaited[i] = {.code = contestant.code, .by = contestant.recompiler()};
    }
    verdicts->Add(std::move(judged), std::move(awaited), field.baseline, ++*done);
    TRY(verdicts->PassOn(gate::Patience::kNone));
  }
  return {};
}

Result<void> Evaluate(const std::vector<Workload>& workloads, const std::vector<Entry>& entries,
                      const Machine& machine, const gate::JudgeOptions& options,
                      const VerdictSink& sink) {
  const std::vector<Group> groups = TRY(GroupsOf(workloads, entries));
  size_t total = 0;
  for (const Group& group : groups) total += group.workloads.size();
  const device::DeviceInfo& device = machine.device->info();
  References references(device.kind);
  std::deque<Preparation> preparations;
  HeldVerdicts verdicts(sink, total);
  size_t begun = 0;
  size_t done = 0;
  const auto judge = [&](size_t i) -> Result<void> {
    const Operator& op = *groups[i].workloads.front()->op;
    TRY(references.Prefetch(op));
    for (; begun < std::min(groups.size(), i + 1 + FieldsAhead(device.kind)); ++begun) {
      preparations.push_back(
          Preparation::Begin(*groups[begun].workloads.front()->op, groups[begun].entries, device));
    }
    const Field field = TRY(preparations.front().Take());
    preparations.pop_front();
    // The next one starts while this one is measured.
    if (begun > i + 1) TRY(references.Prefetch(*groups[i + 1].workloads.front()->op));
    return EvaluateField(groups[i].workloads, field, &references, machine, options, &verdicts,
                         &done);
  };
  Result<void> judged;
  for (size_t i = 0; i < groups.size() && judged; ++i) judged = judge(i);
  // What was judged before something broke is known all the same.
  TRY(verdicts.PassOn(gate::Patience::kWait));
  return judged;
}

}  // namespace roofmark::pipeline
