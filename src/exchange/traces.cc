// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "exchange/baseline.h"
#include "exchange/export.h"

namespace roofmark::exchange {
namespace {

constexpr double kMsPerNs = 1e-6;

// FlashInfer-Bench's status, or nothing where it has none.
std::optional<std::string_view> StatusOf(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::kPassed:
      return "PASSED";
    case Outcome::kCompileError:
    case Outcome::kBadInterface:
    case Outcome::kVendorLibrary:
      return "COMPILE_ERROR";
    case Outcome::kCompileTimeout:
    case Outcome::kTimedOut:
      return "TIMEOUT";
    case Outcome::kWrongOutput:
    case Outcome::kNonFinite:
    case Outcome::kNotWritten:
    case Outcome::kStaleOutput:
      return "INCORRECT_NUMERICAL";
    case Outcome::kWrongStructure:
      return "INCORRECT_SHAPE";
    case Outcome::kOutOfBounds:
    case Outcome::kInputMutated:
    case Outcome::kCrashed:
    case Outcome::kOutOfMemory:
    case Outcome::kRuntimeError:
      return "RUNTIME_ERROR";
    case Outcome::kUnstable:
    case Outcome::kClocksDisagree:
    case Outcome::kUnsynchronised:
    case Outcome::kFasterThanLight:
    case Outcome::kFallback:
    case Outcome::kUnsupported:
    case Outcome::kNotRun:
      break;
  }
  return std::nullopt;
}

// import.json of an operator that was made of a definition; null for others.
Json ImportedFrom(const Operator& op) {
  Result<Json> about = ReadJson(op.folder / "import.json");
  if (!about || about->Find("definition") == nullptr) return Json();
  return std::move(*about);
}

// The workload as it was imported, else as far as the schema can say what ours is.
Json WorkloadObject(const Workload& workload, const Json& about) {
  const Json* const entries = about.Find("workloads");
  const auto at = workload.axes.find("case");
  if (entries != nullptr && entries->is_array() && at != workload.axes.end()) {
    const auto* const index = std::get_if<int64_t>(&at->second);
    if (index != nullptr && *index >= 0 && *index < static_cast<int64_t>(entries->array().size())) {
      const Json* const original = entries->array()[static_cast<size_t>(*index)].Find("workload");
      if (original != nullptr) return *original;
    }
  }
  Json axes = Json::MakeObject();
  for (const auto& [name, value] : workload.axes) {
    if (const auto* const size = std::get_if<int64_t>(&value)) axes.Set(name, *size);
  }
  Json inputs = Json::MakeObject();
  for (const Tensor& tensor : workload.inputs) {
    inputs.Set(tensor.name, Json::MakeObject().Set("type", "random"));
  }
  for (const auto& [name, value] : workload.axes) {
    if (const auto* const real = std::get_if<double>(&value)) {
      inputs.Set(name, Json::MakeObject().Set("type", "scalar").Set("value", *real));
    }
  }
  return Json::MakeObject()
      .Set("axes", std::move(axes))
      .Set("inputs", std::move(inputs))
      .Set("uuid", workload.Id());
}

Json Environment(const Verdict& verdict, const store::RunInfo* run) {
  std::string hardware = verdict.device;
  std::ranges::replace(hardware, ' ', '_');
  Json libs = Json::MakeObject();
  const Json* const driver = run == nullptr ? nullptr : run->details.Find("driver");
  if (driver != nullptr && driver->is_string()) libs.Set("driver", *driver);
  return Json::MakeObject().Set("hardware", hardware).Set("libs", std::move(libs));
}

Json Correctness(const Verdict& verdict) {
  return Json::MakeObject()
      .Set("max_relative_error", "NaN")
      .Set("max_absolute_error", "NaN")
      .Set("extra", Json::MakeObject()
                        .Set("max_error_over_tolerance", verdict.max_error)
                        .Set("outcome", OutcomeName(verdict.outcome)));
}

Json Performance(const Verdict& verdict, const Baseline& baseline) {
  const double ns = verdict.time_ns->median;
  Json performance = Json::MakeObject().Set("latency_ms", ns * kMsPerNs);
  if (const auto found = baseline.ns.find(WorkloadId(verdict)); found != baseline.ns.end()) {
    performance.Set("reference_latency_ms", found->second * kMsPerNs);
    performance.Set("speedup_factor", found->second / ns);
  }
  return performance;
}

Json Evaluation(const Verdict& verdict, std::string_view status, const store::RunInfo* run,
                const Baseline& baseline) {
  Json evaluation = Json::MakeObject()
                        .Set("status", status)
                        .Set("environment", Environment(verdict, run))
                        .Set("timestamp", run == nullptr ? "unknown" : run->date)
                        .Set("log", ValidUtf8(verdict.reason));
  const bool passed = status == "PASSED";
  const bool compared = passed || status == "INCORRECT_NUMERICAL";
  evaluation.Set("correctness", compared ? Correctness(verdict) : Json());
  evaluation.Set("performance", passed ? Performance(verdict, baseline) : Json());
  return evaluation;
}

}  // namespace

Result<Exported> FlashInferTraces(const ExportRequest& request) {
  const Baseline baseline = TRY(BaselineOf(request));
  const auto workloads = WorkloadsById(request);
  std::map<const Operator*, Json> imported;
  std::map<std::string, int64_t> left_out;
  int64_t foreign = 0;
  Exported exported;
  for (const store::StoredVerdict& stored : request.verdicts) {
    const Verdict& verdict = stored.verdict;
    const auto found = workloads.find(WorkloadId(verdict));
    if (found == workloads.end()) continue;
    const std::optional<std::string_view> status = StatusOf(verdict);
    if (!status || (verdict.passed() && !verdict.time_ns)) {
      ++left_out[status ? "passed, without a time" : std::string(OutcomeName(verdict.outcome))];
      continue;
    }
    const Operator& op = *found->second->op;
    if (!imported.contains(&op)) imported[&op] = ImportedFrom(op);
    const Json& about = imported[&op];
    const Json* const definition = about.Find("definition");
    if (definition == nullptr) ++foreign;
    const auto run = std::ranges::find(request.runs, stored.run, &store::RunInfo::id);
    exported.lines.push_back(
        Json::MakeObject()
            .Set("definition", definition == nullptr ? Json(op.name) : *definition)
            .Set("workload", WorkloadObject(*found->second, about))
            .Set("solution", verdict.candidate)
            .Set("evaluation", Evaluation(verdict, *status,
                                          run == request.runs.end() ? nullptr : &*run, baseline)));
  }
  for (const auto& [why, count] : left_out) {
    exported.left_out.push_back(
        fmt::format("{} verdicts '{}': FlashInfer-Bench has no status for them", count, why));
  }
  if (foreign > 0) {
    exported.left_out.push_back(fmt::format(
        "the definitions of {} traces: their operators did not come from FlashInfer-Bench",
        foreign));
  }
  return exported;
}

}  // namespace roofmark::exchange
