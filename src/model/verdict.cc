// SPDX-License-Identifier: Apache-2.0
#include "model/verdict.h"

#include "model/device_card.h"
#include "model/interval_json.h"
#include "model/names.h"
#include "model/operator.h"
#include "model/workload.h"

namespace roofmark {
namespace {

using Names = std::string_view;
constexpr std::array<Names, kEngineCount> kEngines = {"tensor_bf16", "tensor_f16", "tensor_fp8",
                                                      "tensor_tf32", "vector_f32", "special"};
constexpr std::array<Names, 3> kWeightLabels = {"published", "mined", "assumed"};
constexpr std::array<Names, 8> kLanes = {"cpp",     "cuda",     "triton", "gluon",
                                         "cutedsl", "tilelang", "flydsl", "torch"};
constexpr std::array<Names, 2> kDeviceKinds = {"cpu", "cuda"};
constexpr std::array<Names, 2> kModes = {"eager", "graph"};
constexpr std::array<Names, 3> kAnswers = {"yes", "no", "not_applicable"};
constexpr std::array<Names, 2> kRoles = {"candidate", "baseline"};
constexpr std::array<Names, 3> kGates = {"compile", "correctness", "performance"};
constexpr std::array<Names, 23> kOutcomes = {
    "passed",          "compile_error", "compile_timeout", "bad_interface",  "vendor_library",
    "wrong_output",    "non_finite",    "not_written",     "out_of_bounds",  "input_mutated",
    "wrong_structure", "crashed",       "timed_out",       "out_of_memory",  "runtime_error",
    "stale_output",    "unstable",      "clocks_disagree", "unsynchronised", "faster_than_light",
    "fallback",        "unsupported",   "not_run"};
constexpr std::array<Names, kOwnerCount> kOwners = {"own",      "dsl",      "vendor",  "framework",
                                                    "compiler", "prebuilt", "runtime", "unknown"};

template <typename Enum, size_t N>
std::string_view NameOf(Enum value, const std::array<Names, N>& names) {
  return names[static_cast<size_t>(value)];
}

Result<std::optional<Interval>> OptionalInterval(const Json& json, std::string_view key) {
  const Json* found = json.Find(key);
  if (found == nullptr || found->is_null()) return std::optional<Interval>();
  return std::optional<Interval>(TRY_IN(IntervalFromJson(*found), std::string(key)));
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? IntervalToJson(*value) : Json();
}

Json SharesToJson(const Shares& shares) {
  Json json = Json::MakeObject();
  for (size_t i = 0; i < kOwnerCount; ++i) {
    if (shares[i] > 0) json.Set(kOwners[i], shares[i]);
  }
  return json;
}

Result<void> ReadMeasurements(const Json& json, Verdict* verdict) {
  verdict->time_ns = TRY(OptionalInterval(json, "time_ns"));
  verdict->attainment = TRY(OptionalInterval(json, "attainment"));
  if (const Json* clocks = json.Find("clocks_ns"); clocks != nullptr && clocks->is_object()) {
    Clocks read;
    read.device = TRY(IntervalFromJson(*TRY(clocks->ObjectAt("device"))));
    read.event = TRY(IntervalFromJson(*TRY(clocks->ObjectAt("event"))));
    read.host = TRY(IntervalFromJson(*TRY(clocks->ObjectAt("host"))));
    verdict->clocks = read;
  }
  if (const Json* shares = json.Find("shares"); shares != nullptr && shares->is_object()) {
    Shares read{};
    for (const auto& [name, value] : shares->object()) {
      if (!value.is_number()) return Fail(ErrorKind::kInput, "share '" + name + "' is no number");
      read[static_cast<size_t>(TRY(ParseOwner(name)))] = value.as_double();
    }
    verdict->shares = read;
  }
  if (const Json* samples = json.Find("samples_ns"); samples != nullptr && samples->is_array()) {
    for (const Json& sample : samples->array()) {
      if (!sample.is_number()) return Fail(ErrorKind::kInput, "samples_ns holds a non-number");
      verdict->samples_ns.push_back(sample.as_double());
    }
  }
  if (const Json* kernels = json.Find("kernels"); kernels != nullptr && kernels->is_array()) {
    for (const Json& kernel : kernels->array()) {
      if (kernel.is_string()) verdict->kernels.push_back(kernel.as_string());
    }
  }
  return {};
}

// Verdicts of older stores have none of these.
Result<void> ReadCircumstances(const Json& json, Verdict* verdict) {
  if (json.Find("mode") != nullptr) verdict->mode = TRY(ParseMode(TRY(json.String("mode"))));
  const Json* const same = json.Find("deterministic");
  if (same != nullptr && !same->is_null()) verdict->deterministic = TRY(json.Bool("deterministic"));
  const Json* const bound = json.Find("launch_bound");
  if (bound != nullptr && !bound->is_null()) verdict->launch_bound = TRY(json.Bool("launch_bound"));
  if (json.Find("fitness") == nullptr) return {};
  for (const Json& item : TRY(json.ArrayAt("fitness"))->array()) {
    verdict->fitness.push_back({.name = TRY(item.String("item")),
                                .answer = TRY(ParseName<FitnessItem::Answer>(
                                    TRY(item.String("answer")), kAnswers, "answer")),
                                .why = TRY(item.String("why"))});
  }
  return {};
}

}  // namespace

std::string_view EngineName(Engine engine) {
  return NameOf(engine, kEngines);
}
Result<Engine> ParseEngine(std::string_view name) {
  return ParseName<Engine>(name, kEngines, "engine");
}
std::string_view WeightLabelName(WeightLabel label) {
  return NameOf(label, kWeightLabels);
}
std::string_view LaneName(Lane lane) {
  return NameOf(lane, kLanes);
}
Result<Lane> ParseLane(std::string_view name) {
  return ParseName<Lane>(name, kLanes, "lane");
}
bool IsNative(Lane lane) {
  return lane == Lane::kCpp || lane == Lane::kCuda;
}
bool IsDsl(Lane lane) {
  return !IsNative(lane) && lane != Lane::kTorch;
}
bool NeedsGpu(Lane lane) {
  return lane == Lane::kCuda || IsDsl(lane);
}
std::string_view DeviceKindName(DeviceKind kind) {
  return NameOf(kind, kDeviceKinds);
}
Result<DeviceKind> ParseDeviceKind(std::string_view name) {
  return ParseName<DeviceKind>(name, kDeviceKinds, "device kind");
}
std::string_view ModeName(Mode mode) {
  return NameOf(mode, kModes);
}
Result<Mode> ParseMode(std::string_view name) {
  return ParseName<Mode>(name, kModes, "mode");
}
std::string_view AnswerName(FitnessItem::Answer answer) {
  return NameOf(answer, kAnswers);
}
Json FitnessToJson(const FitnessItem& item) {
  return Json::MakeObject()
      .Set("item", item.name)
      .Set("answer", AnswerName(item.answer))
      .Set("why", item.why);
}
std::string_view GateName(Gate gate) {
  return NameOf(gate, kGates);
}
Result<Gate> ParseGate(std::string_view name) {
  return ParseName<Gate>(name, kGates, "gate");
}
std::string_view OutcomeName(Outcome outcome) {
  return NameOf(outcome, kOutcomes);
}
Result<Outcome> ParseOutcome(std::string_view name) {
  return ParseName<Outcome>(name, kOutcomes, "outcome");
}
std::string_view OwnerName(Owner owner) {
  return NameOf(owner, kOwners);
}
Result<Owner> ParseOwner(std::string_view name) {
  return ParseName<Owner>(name, kOwners, "owner");
}

double Adoption(const Shares& shares) {
  const auto share = [&](Owner owner) { return shares[static_cast<size_t>(owner)]; };
  double all = -share(Owner::kRuntime);
  for (const double value : shares) all += value;
  return all <= 0 ? 0 : (share(Owner::kOwn) + share(Owner::kDsl)) / all;
}

Json VerdictToJson(const Verdict& verdict, Samples samples) {
  Json json = Json::MakeObject();
  json.Set("operator", verdict.operator_name)
      .Set("shape", verdict.shape)
      .Set("phase", PhaseName(verdict.phase))
      .Set("candidate", verdict.candidate)
      .Set("candidate_hash", verdict.candidate_hash)
      .Set("lane", LaneName(verdict.lane))
      .Set("role", NameOf(verdict.role, kRoles))
      .Set("device", verdict.device)
      .Set("gate", GateName(verdict.gate))
      .Set("outcome", OutcomeName(verdict.outcome))
      .Set("reason", verdict.reason)
      .Set("attainment", OrNull(verdict.attainment))
      .Set("attainment_against", verdict.attainment_against)
      .Set("time_ns", OrNull(verdict.time_ns));
  Json clocks;
  if (verdict.clocks) {
    clocks = Json::MakeObject()
                 .Set("device", IntervalToJson(verdict.clocks->device))
                 .Set("event", IntervalToJson(verdict.clocks->event))
                 .Set("host", IntervalToJson(verdict.clocks->host));
  }
  json.Set("clocks_ns", std::move(clocks))
      .Set("adoption", verdict.shares ? Json(Adoption(*verdict.shares)) : Json())
      .Set("shares", verdict.shares ? SharesToJson(*verdict.shares) : Json())
      .Set("level", verdict.level)
      .Set("max_error", verdict.max_error)
      .Set("kernels", Json::Array(verdict.kernels.begin(), verdict.kernels.end()));
  json.Set("deterministic", verdict.deterministic ? Json(*verdict.deterministic) : Json());
  json.Set("mode", ModeName(verdict.mode))
      .Set("launch_bound", verdict.launch_bound ? Json(*verdict.launch_bound) : Json());
  if (!verdict.fitness.empty()) {
    Json items = Json::MakeArray();
    for (const FitnessItem& item : verdict.fitness) items.Push(FitnessToJson(item));
    json.Set("fitness", std::move(items));
  }
  if (verdict.against) json.Set("against", AgainstToJson(*verdict.against));
  if (samples == Samples::kInclude) {
    json.Set("samples_ns", Json::Array(verdict.samples_ns.begin(), verdict.samples_ns.end()));
  }
  return json;
}

Result<Verdict> VerdictFromJson(const Json& json) {
  Verdict verdict;
  verdict.operator_name = TRY(json.String("operator"));
  verdict.shape = TRY(json.String("shape"));
  verdict.phase = TRY(ParsePhase(TRY(json.String("phase"))));
  verdict.candidate = TRY(json.String("candidate"));
  verdict.candidate_hash = TRY(json.String("candidate_hash"));
  verdict.lane = TRY(ParseLane(TRY(json.String("lane"))));
  verdict.role = TRY(ParseName<Role>(TRY(json.String("role")), kRoles, "role"));
  verdict.device = TRY(json.String("device"));
  verdict.gate = TRY(ParseGate(TRY(json.String("gate"))));
  verdict.outcome = TRY(ParseOutcome(TRY(json.String("outcome"))));
  verdict.reason = TRY(json.String("reason"));
  verdict.attainment_against = TRY(json.String("attainment_against"));
  verdict.level = TRY(json.String("level"));
  verdict.max_error = TRY(json.Double("max_error"));
  TRY(ReadMeasurements(json, &verdict));
  TRY(ReadCircumstances(json, &verdict));
  if (const Json* against = json.Find("against"); against != nullptr && against->is_object()) {
    verdict.against = TRY_IN(AgainstFromJson(*against), "against");
  }
  return verdict;
}

}  // namespace roofmark
