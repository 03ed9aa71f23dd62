// SPDX-License-Identifier: Apache-2.0
#include "gate/evidence.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <vector>

#include "gate/contestant.h"
#include "gate/cpu_stopwatch.h"
#include "gate/cuda_stopwatch.h"

namespace roofmark::gate {
namespace {

// Measures nothing; knows how a device kind's clocks are held against each other.
class ArchivedStopwatch final : public Stopwatch {
 public:
  explicit ArchivedStopwatch(DeviceKind kind) : kind_(kind) {}
  Result<worker::Answer<void>> Prepare(worker::Worker& /*worker*/,
                                       const Provenance& /*provenance*/) override {
    return Fail(ErrorKind::kInput, "an archived timing is not measured again");
  }
  Result<worker::Answer<BatchTimes>> Time(worker::Worker& /*worker*/,
                                          std::span<const TimedCall> /*calls*/,
                                          const std::string& /*workspace*/,
                                          double /*timeout_s*/) override {
    return Fail(ErrorKind::kInput, "an archived timing is not measured again");
  }
  std::string ClockFault(const Clocks& clocks, double published_ns) const override {
    return kind_ == DeviceKind::kCpu ? CpuClockFault(clocks) : CudaClockFault(clocks, published_ns);
  }

 private:
  DeviceKind kind_;
};

Json Numbers(const std::vector<double>& values) {
  return Json(Json::Array(values.begin(), values.end()));
}

Result<std::vector<double>> NumbersAt(const Json& json, std::string_view key) {
  std::vector<double> values;
  for (const Json& item : TRY(json.ArrayAt(key))->array()) {
    if (!item.is_number()) return Fail(ErrorKind::kInput, fmt::format("{} holds no number", key));
    values.push_back(item.as_double());
  }
  return values;
}

Result<Timing> TimingOf(const Verdict& archived) {
  const Json& json = *TRY(archived.evidence.ObjectAt("timing"));
  Timing timing{.time_ns = archived.samples_ns,
                .device_ns = TRY(NumbersAt(json, "device_ns")),
                .event_ns = TRY(NumbersAt(json, "event_ns")),
                .host_ns = TRY(NumbersAt(json, "host_ns"))};
  if (timing.time_ns.empty()) return Fail(ErrorKind::kInput, "its samples are missing");
  const Json& owners = *TRY(json.ObjectAt("owner_ns"));
  for (const auto& [name, unused] : owners.object()) {
    timing.owner_ns[static_cast<size_t>(TRY(ParseOwner(name)))] = TRY(owners.Double(name));
  }
  timing.kernels = archived.kernels;
  timing.unsynchronised = TRY(json.String("unsynchronised"));
  // Verdicts from before there were such witnesses say nothing.
  if (json.Find("refuted") != nullptr) timing.refuted = TRY(json.String("refuted"));
  timing.level = TRY(json.String("level"));
  if (json.Find("coldness") != nullptr) timing.cold_level = TRY(json.String("coldness"));
  return timing;
}

}  // namespace

Json TimingToJson(const Timing& timing) {
  Json owners = Json::MakeObject();
  for (size_t i = 0; i < kOwnerCount; ++i) {
    if (timing.owner_ns[i] != 0) owners.Set(OwnerName(static_cast<Owner>(i)), timing.owner_ns[i]);
  }
  return Json::MakeObject()
      .Set("device_ns", Numbers(timing.device_ns))
      .Set("event_ns", Numbers(timing.event_ns))
      .Set("host_ns", Numbers(timing.host_ns))
      .Set("owner_ns", std::move(owners))
      .Set("unsynchronised", timing.unsynchronised)
      .Set("refuted", timing.refuted)
      .Set("level", timing.level)
      .Set("coldness", timing.cold_level);
}

void AddCircumstances(const Workload& workload, DeviceKind device, const Sol& sol,
                      const JudgeOptions& options, const std::string& secret, Json* evidence) {
  if (!evidence->is_object()) *evidence = Json::MakeObject();
  evidence->Set("gate", GateName(options.last_gate))
      .Set("effort", options.effort == Effort::kQuick ? "quick" : "full")
      .Set("require_adoption", options.require_adoption)
      .Set("call_timeout_s", options.call_timeout_s)
      .Set("device_kind", DeviceKindName(device))
      .Set("sol", Json::MakeObject()
                      .Set("ns", sol.ns)
                      .Set("against", sol.against)
                      .Set("floor_ns", sol.floor_ns))
      .Set("secret", secret)
      .Set("operator_files", workload.op->folder.string());
}

Result<Circumstances> CircumstancesOf(const Json& evidence) {
  Circumstances known;
  known.options.last_gate = TRY(ParseGate(TRY(evidence.String("gate"))));
  const std::string effort = TRY(evidence.String("effort"));
  if (effort != "quick" && effort != "full") {
    return Fail(ErrorKind::kInput, fmt::format("effort '{}' is not quick or full", effort));
  }
  known.options.effort = effort == "quick" ? Effort::kQuick : Effort::kFull;
  known.options.require_adoption = TRY(evidence.Double("require_adoption"));
  known.options.call_timeout_s = TRY(evidence.Double("call_timeout_s"));
  known.device = TRY(ParseDeviceKind(TRY(evidence.String("device_kind"))));
  const Json& sol = *TRY(evidence.ObjectAt("sol"));
  known.sol = {.ns = TRY(sol.Double("ns")),
               .against = TRY(sol.String("against")),
               .floor_ns = TRY(sol.Double("floor_ns"))};
  known.secret = TRY(evidence.String("secret"));
  known.operator_files = TRY(evidence.String("operator_files"));
  return known;
}

bool IsConclusion(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
    case Outcome::kUnsynchronised:
    case Outcome::kFallback:
    case Outcome::kClocksDisagree:
    case Outcome::kFasterThanLight:
    case Outcome::kUnstable:
      return true;
    default:
      return false;
  }
}

Result<Verdict> ConcludeAgain(const Verdict& archived) {
  const Circumstances known = TRY(CircumstancesOf(archived.evidence));
  const Timing timing = TRY(TimingOf(archived));
  const Operator op{.name = archived.operator_name};
  Workload workload{.op = &op};
  workload.shape.id = archived.shape;
  const Candidate candidate{
      .name = archived.candidate, .lane = archived.lane, .role = archived.role};
  const std::unique_ptr<Contestant> contestant = TRY(Contestant::Make(candidate, op, {}));
  contestant->StartVerdict(workload);
  Conclude(timing, known.sol, ArchivedStopwatch(known.device), known.options, contestant.get());
  return contestant->verdict;
}

}  // namespace roofmark::gate
