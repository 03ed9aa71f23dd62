// SPDX-License-Identifier: Apache-2.0
#include "roofline/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "model/names.h"

namespace roofmark::roofline {
namespace {

constexpr std::array<std::string_view, 2> kAgainst = {"datasheet", "measured"};
constexpr double kNsPerS = 1e9;

struct Ceiling {
  double rate = 0;
  std::string name;
};

// The engines that could do an engine's work, best first; the engine itself is the first.
std::vector<Engine> StandIns(Engine engine) {
  using enum Engine;
  switch (engine) {
    case kTensorBF16:
      return {kTensorBF16, kTensorF16, kVectorF32};
    case kTensorF16:
      return {kTensorF16, kTensorBF16, kVectorF32};
    case kTensorFp8:
      return {kTensorFp8, kTensorBF16, kTensorF16, kVectorF32};
    case kTensorTf32:
      return {kTensorTf32, kVectorF32};
    case kVectorF32:
      return {kVectorF32};
    case kSpecial:
      return {kSpecial, kVectorF32};
  }
  CheckFailed(__FILE__, __LINE__, "engine is in the enumeration");
}

// A card's two sets of ceilings, the chosen one first.
struct Source {
  const Ceilings* ceilings;
  std::string_view name;
};
std::array<Source, 2> SourcesOf(const DeviceCard& card, CeilingKind against) {
  std::array<Source, 2> sources = {Source{&card.datasheet, kAgainst[0]},
                                   Source{&card.measured, kAgainst[1]}};
  if (against == CeilingKind::kMeasured) std::swap(sources[0], sources[1]);
  return sources;
}

Ceiling EngineCeiling(const std::array<Source, 2>& sources, Engine engine) {
  for (const Engine candidate : StandIns(engine)) {
    for (const Source& source : sources) {
      const double rate = source.ceilings->ops_per_s[static_cast<size_t>(candidate)];
      if (rate > 0) return {rate, fmt::format("{} {}", source.name, EngineName(candidate))};
    }
  }
  return {};
}

Ceiling MemoryCeiling(const std::array<Source, 2>& sources) {
  for (const Source& source : sources) {
    const double rate = source.ceilings->memory_bytes_per_s;
    if (rate > 0) return {rate, fmt::format("{} memory", source.name)};
  }
  return {};
}

Ceiling LaunchCeiling(const std::array<Source, 2>& sources) {
  for (const Source& source : sources) {
    const double floor_s = source.ceilings->launch_floor_s;
    if (floor_s > 0) return {1 / floor_s, fmt::format("{} launch_floor", source.name)};
  }
  return {};
}

// Appends amount / rate, or says why it is missing or whose rate it is.
void AddTerm(std::string_view name, double amount, const Ceiling& ceiling,
             std::string_view expected, SolTime* sol) {
  if (ceiling.rate <= 0) {
    sol->notes.push_back(fmt::format("{} is left out: the card has no ceiling for it", name));
    return;
  }
  if (ceiling.name != expected) {
    sol->notes.push_back(fmt::format("{} is charged to {}", name, ceiling.name));
  }
  sol->terms.push_back({.name = std::string(name),
                        .ns = amount / ceiling.rate * kNsPerS,
                        .amount = amount,
                        .rate = ceiling.rate,
                        .ceiling = ceiling.name});
}

SolTime Finish(SolTime sol) {
  if (sol.terms.empty()) return sol;
  const auto longest = std::ranges::max_element(sol.terms, {}, &Term::ns);
  sol.sol_ns = longest->ns;
  sol.bound_by = longest->name;
  return sol;
}

double WarmBytes(const Workload& workload, const DeviceCard& card) {
  double warm = 0;
  for (const Tensor& tensor : workload.inputs) {
    if (tensor.residency == Residency::kWarm) warm += static_cast<double>(tensor.Bytes());
  }
  return warm <= card.l2_bytes ? warm : 0;
}

// Source: roofline.py of the released benchmark, its map from dtype to peak.
Result<Engine> EngineOfReleasedDtype(std::string_view dtype) {
  if (dtype == "bf16") return Engine::kTensorBF16;
  if (dtype == "fp16") return Engine::kTensorF16;
  if (dtype == "fp8_e4m3" || dtype == "fp8_e5m2") return Engine::kTensorFp8;
  if (dtype == "tf32") return Engine::kTensorTf32;
  if (dtype == "fp32") return Engine::kVectorF32;
  return Fail(ErrorKind::kInput, fmt::format("released work by dtype '{}' is unknown (bf16, fp16, "
                                             "fp8_e4m3, fp8_e5m2, tf32, fp32)",
                                             dtype));
}

}  // namespace

std::string_view CeilingKindName(CeilingKind against) {
  return kAgainst[static_cast<size_t>(against)];
}
Result<CeilingKind> ParseCeilingKind(std::string_view name) {
  return ParseName<CeilingKind>(name, kAgainst, "kind of ceilings");
}

SolTime ComputeSol(const Workload& workload, const DeviceCard& card, CeilingKind against,
                   LaunchFloor floor) {
  const auto sources = SourcesOf(card, against);
  SolTime sol;
  if (!sources[0].ceilings->present) {
    sol.notes.push_back(fmt::format("{} has no {} ceilings", card.name, CeilingKindName(against)));
    return sol;
  }
  for (size_t i = 0; i < kEngineCount; ++i) {
    if (workload.work[i] <= 0) continue;
    const auto engine = static_cast<Engine>(i);
    AddTerm(EngineName(engine), workload.work[i], EngineCeiling(sources, engine),
            fmt::format("{} {}", CeilingKindName(against), EngineName(engine)), &sol);
  }
  const double warm = WarmBytes(workload, card);
  if (warm > 0) sol.notes.push_back(fmt::format("{} bytes of warm inputs come from L2", warm));
  AddTerm("memory",
          std::max(0.0, workload.traffic.read_bytes - warm) + workload.traffic.write_bytes,
          MemoryCeiling(sources), fmt::format("{} memory", CeilingKindName(against)), &sol);
  if (floor == LaunchFloor::kWith) {
    AddTerm("launch", 1, LaunchCeiling(sources),
            fmt::format("{} launch_floor", CeilingKindName(against)), &sol);
  }
  return Finish(std::move(sol));
}

Result<SolTime> ComputePublishedSol(const Workload& workload, const DeviceCard& card) {
  const Published& published = workload.shape.published;
  if (!published.present) {
    SolTime sol = ComputeSol(workload, card, CeilingKind::kDatasheet, LaunchFloor::kWithout);
    sol.notes.push_back("the shape is not among the published ones: our own work and traffic");
    return sol;
  }
  const auto sources = SourcesOf(card, CeilingKind::kDatasheet);
  SolTime sol;
  Term compute;
  for (const auto& [dtype, ops] : published.work) {
    const Engine engine = TRY_IN(EngineOfReleasedDtype(dtype), workload.Id());
    SolTime part;
    AddTerm(EngineName(engine), ops, EngineCeiling(sources, engine),
            fmt::format("datasheet {}", EngineName(engine)), &part);
    sol.notes.insert(sol.notes.end(), part.notes.begin(), part.notes.end());
    if (part.terms.empty()) continue;
    // The sum is one term; with more than one dtype it carries the name of the last.
    part.terms[0].ns += compute.ns;
    compute = part.terms[0];
  }
  if (!compute.name.empty()) sol.terms.push_back(compute);
  AddTerm("memory", published.read_bytes + published.write_bytes, MemoryCeiling(sources),
          "datasheet memory", &sol);
  return Finish(std::move(sol));
}

Interval Attainment(double sol_ns, const Interval& time_ns) {
  CHECK(time_ns.low > 0);
  return {.median = sol_ns / time_ns.median,
          .low = sol_ns / time_ns.high,
          .high = sol_ns / time_ns.low};
}

Json RooflineRow(const Workload& workload, const DeviceCard& card, CeilingKind against,
                 const SolTime& sol) {
  Json work = Json::MakeObject();
  for (size_t i = 0; i < kEngineCount; ++i) {
    if (workload.work[i] > 0) work.Set(EngineName(static_cast<Engine>(i)), workload.work[i]);
  }
  Json terms = Json::MakeObject();
  for (const Term& term : sol.terms) terms.Set(term.name, term.ns);
  return Json::MakeObject()
      .Set("operator", workload.op->name)
      .Set("shape", workload.shape.id)
      .Set("phase", PhaseName(workload.shape.phase))
      .Set("device", card.name)
      .Set("work", std::move(work))
      .Set("traffic_bytes", workload.traffic.Total())
      .Set("sol_ns", sol.sol_ns)
      .Set("bound_by", sol.bound_by)
      .Set("against", CeilingKindName(against))
      .Set("terms", std::move(terms))
      .Set("notes", Json::Array(sol.notes.begin(), sol.notes.end()));
}

}  // namespace roofmark::roofline
