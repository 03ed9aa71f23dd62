// SPDX-License-Identifier: Apache-2.0
#include "pipeline/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "gate/comparison.h"
#include "gate/contestant.h"
#include "gate/cpu_stopwatch.h"
#include "gate/cuda_stopwatch.h"
#include "gate/evidence.h"
#include "gate/memory_watch.h"
#include "roofline/device_file.h"
#include "roofline/roofline.h"

namespace roofmark::pipeline {
namespace {

struct Field {
  std::vector<std::unique_ptr<gate::Contestant>> owned;
  std::vector<gate::Contestant*> all;
  std::optional<size_t> baseline;  // in all
};

Result<Field> Assemble(const Operator& op, const std::vector<Entry>& entries,
                       const device::DeviceInfo& device) {
  Field field;
  for (const Entry& entry : entries) {
    std::unique_ptr<gate::Contestant> contestant =
        TRY_IN(gate::Contestant::Make(entry.candidate, op, device), entry.candidate.name);
    TRY_IN(contestant->Compile(), "compiling " + entry.candidate.name);
    if (entry.baseline) field.baseline = field.all.size();
    field.all.push_back(contestant.get());
    field.owned.push_back(std::move(contestant));
  }
  return field;
}

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

Result<void> EvaluateOperator(const std::vector<const Workload*>& workloads,
                              const std::vector<Entry>& entries, const Machine& machine,
                              gate::JudgeOptions options, const VerdictSink& sink, size_t* done,
                              size_t total) {
  const Operator& op = *workloads.front()->op;
  const Field field = TRY(Assemble(op, entries, machine.device->info()));
  if (field.baseline) options.baseline = field.all[*field.baseline];
  // Before any process of ours uses the device: what must be free again once they all have ended.
  const std::optional<int64_t> free_bytes = TRY(machine.device->FreeMemory());
  gate::Reference reference = TRY(gate::Reference::Start(op, machine.device->info().kind));
  const gate::Bench bench{*machine.device, reference, *machine.stopwatch};
  for (const Workload* workload : workloads) {
    Result<std::vector<Verdict>> verdicts =
        gate::JudgeWorkload(*workload, SolOf(*workload, machine), field.all, bench, options);
    if (!verdicts && verdicts.error().kind() == ErrorKind::kDevice) {
      verdicts = Unsupported(*workload, field, verdicts.error().message());
      for (Verdict& verdict : *verdicts) {
        gate::AddCircumstances(*workload, machine.device->info().kind, SolOf(*workload, machine),
                               options, "", &verdict.evidence);
      }
      // What failed may have left workers and the device in any state. On a device that is not as
      // it was, nothing more is judged: the next candidate would pay for the last one.
      for (gate::Contestant* contestant : field.all) contestant->Restart();
      reference.Stop();
      TRY(gate::CheckHealth(*machine.device, free_bytes));
      reference = TRY(gate::Reference::Start(op, machine.device->info().kind));
    }
    if (verdicts && field.baseline) {
      gate::ExplainMissingComparisons(*field.baseline, &*verdicts);
    }
    ++*done;
    for (const Verdict& verdict : TRY_IN(std::move(verdicts), workload->Id())) {
      TRY(sink(verdict, *done, total));
    }
  }
  return {};
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

Result<void> Evaluate(const std::vector<Workload>& workloads, const std::vector<Entry>& entries,
                      const Machine& machine, const gate::JudgeOptions& options,
                      const VerdictSink& sink) {
  std::vector<std::string> operators;  // in order of appearance
  for (const Entry& entry : entries) {
    if (std::ranges::find(operators, entry.operator_name) == operators.end()) {
      operators.push_back(entry.operator_name);
    }
  }
  std::map<std::string, std::vector<const Workload*>> by_operator;
  size_t total = 0;
  for (const Workload& workload : workloads) {
    if (std::ranges::find(operators, workload.op->name) == operators.end()) continue;
    by_operator[workload.op->name].push_back(&workload);
    ++total;
  }
  size_t done = 0;
  for (const std::string& name : operators) {
    if (by_operator[name].empty()) {
      return Fail(ErrorKind::kInput, "no workload of operator " + name + " is selected");
    }
    std::vector<Entry> playing;
    for (const Entry& entry : entries) {
      if (entry.operator_name == name) playing.push_back(entry);
    }
    TRY(EvaluateOperator(by_operator[name], playing, machine, options, sink, &done, total));
  }
  return {};
}

}  // namespace roofmark::pipeline
