// SPDX-License-Identifier: Apache-2.0
// The JSON of a run. The HTML page draws from exactly this, so whatever it shows can be recomputed
// by others.
#include <algorithm>

#include "report/report.h"
#include "report/summary_internal.h"

namespace roofmark::report {
namespace {

// Declared ahead of the templates that call them.
Json ToJson(const DeviceCard& card);
Json ToJson(const MinedTotals& mined);
Json ToJson(const WorkloadRow& row);
Json ToJson(const ScoreRow& row);
Json ToJson(const CandidateSummary& summary);
Json ToJson(const OwnerRow& row);
Json ToJson(const Point& point);

Json ToJson(const Interval& interval) {
  return Json::MakeObject()
      .Set("median", interval.median)
      .Set("low", interval.low)
      .Set("high", interval.high);
}

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(ToJson(*value)) : Json();
}

Json OrNull(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

template <typename Range, typename Convert>
Json ListOf(const Range& range, const Convert& convert) {
  Json list = Json::MakeArray();
  for (const auto& item : range) list.Push(convert(item));
  return list;
}

Json Texts(const std::vector<std::string>& texts) {
  return ListOf(texts, [](const std::string& text) { return Json(text); });
}

std::string_view RoleName(Role role) {
  return role == Role::kBaseline ? "baseline" : "candidate";
}

Json ToJson(const Roof& roof) {
  if (roof.sol_ns <= 0) return Json();
  return Json::MakeObject().Set("sol_ns", roof.sol_ns).Set("bound_by", roof.bound_by);
}

Json ToJson(const WorkloadRow& row) {
  return Json::MakeObject()
      .Set("operator", row.op)
      .Set("shape", row.shape)
      .Set("phase", PhaseName(row.phase))
      .Set("detail", row.detail)
      .Set("weight", Json::MakeObject()
                         .Set("value", row.weight.value)
                         .Set("low", row.weight.low)
                         .Set("high", row.weight.high)
                         .Set("label", WeightLabelName(row.weight.label))
                         .Set("provenance", row.weight.provenance))
      .Set("engine", EngineName(row.engine))
      .Set("ops", row.ops)
      .Set("bytes", row.bytes)
      .Set("datasheet", ToJson(row.datasheet))
      .Set("measured", ToJson(row.measured))
      .Set("deployed_ns", row.deployed_ns > 0 ? Json(row.deployed_ns) : Json());
}

Json ToJson(const Ceilings& ceilings) {
  if (!ceilings.present) return Json();
  Json ops = Json::MakeObject();
  for (size_t i = 0; i < kEngineCount; ++i) {
    if (ceilings.ops_per_s[i] > 0) {
      ops.Set(EngineName(static_cast<Engine>(i)), ceilings.ops_per_s[i]);
    }
  }
  Json sources = Json::MakeObject();
  for (const auto& [key, source] : ceilings.sources) sources.Set(key, source);
  return Json::MakeObject()
      .Set("memory_bytes_per_s", ceilings.memory_bytes_per_s)
      .Set("ops_per_s", std::move(ops))
      .Set("launch_floor_ns", ceilings.launch_floor_s * 1e9)
      .Set("sources", std::move(sources));
}

Json ToJson(const DeviceCard& card) {
  return Json::MakeObject()
      .Set("name", card.name)
      .Set("kind", card.kind)
      .Set("arch", card.arch)
      .Set("datasheet", ToJson(card.datasheet))
      .Set("measured", ToJson(card.measured))
      .Set("measured_note", card.measured_note);
}

Json ToJson(const ScoreRow& row) {
  return Json::MakeObject()
      .Set("candidate", row.candidate)
      .Set("lane", LaneName(row.lane))
      .Set("role", RoleName(row.role))
      .Set("operator", row.op)
      .Set("phase", row.phase ? Json(PhaseName(*row.phase)) : Json())
      .Set("score", ScoreKindName(row.kind))
      .Set("s", row.s)
      .Set("low", row.low)
      .Set("high", row.high)
      .Set("weight", row.weight)
      .Set("adoption", OrNull(row.adoption))
      .Set("pass_compile", row.pass.compile)
      .Set("pass_correctness", row.pass.correctness)
      .Set("pass_performance", row.pass.performance)
      .Set("fleet_time", OrNull(row.fleet_time));
}

Json ToJson(const MinedTotals& mined) {
  return Json::MakeObject()
      .Set("profiles", mined.profiles)
      .Set("gpu_ns", mined.gpu_ns)
      .Set("unattributed_ns", mined.unattributed_ns)
      .Set("loss", mined.loss)
      .Set("unattributed", ListOf(mined.unattributed, [](const auto& kernel) {
             return Json::MakeObject().Set("kernel", kernel.first).Set("ns", kernel.second);
           }));
}

Json ToJson(const CandidateSummary& summary) {
  Json failures = Json::MakeObject();
  for (const auto& [outcome, count] : summary.failures) failures.Set(OutcomeName(outcome), count);
  return Json::MakeObject()
      .Set("candidate", summary.candidate)
      .Set("lanes", ListOf(summary.lanes, [](Lane lane) { return Json(LaneName(lane)); }))
      .Set("role", RoleName(summary.role))
      .Set("standing", StandingName(summary.standing))
      .Set("reasons", Texts(summary.reasons))
      .Set("judged", summary.judged)
      .Set("passed", summary.passed)
      .Set("failures", std::move(failures))
      .Set("total", OrNull(summary.total));
}

Json ToJson(const OwnerRow& row) {
  Json shares = Json::MakeObject();
  for (size_t i = 0; i < kOwnerCount; ++i) {
    if (row.shares[i] > 0) shares.Set(OwnerName(static_cast<Owner>(i)), row.shares[i]);
  }
  return Json::MakeObject()
      .Set("candidate", row.candidate)
      .Set("role", RoleName(row.role))
      .Set("operator", row.op)
      .Set("workloads", row.workloads)
      .Set("adoption", Adoption(row.shares))
      .Set("shares", std::move(shares));
}

Json ToJson(const Point& point) {
  return Json::MakeObject()
      .Set("workload", static_cast<int64_t>(point.workload))
      .Set("verdict", point.verdict ? Json(static_cast<int64_t>(*point.verdict)) : Json())
      .Set("intensity", point.intensity)
      .Set("ops_per_s", point.ops_per_s)
      .Set("bytes_per_s", point.bytes_per_s)
      .Set("against_datasheet", OrNull(point.against_datasheet))
      .Set("against_measured", OrNull(point.against_measured));
}

Json Provenance(const Run& run) {
  Json versions = Json::MakeObject();
  for (const auto& [name, version] : run.versions) versions.Set(name, version);
  return Json::MakeObject()
      .Set("date", run.date)
      .Set("suite", run.suite)
      .Set("device", OrNull(run.device))
      .Set("driver", run.driver)
      .Set("versions", std::move(versions))
      .Set("level", run.level)
      .Set("notes", Texts(run.notes));
}

template <typename T>
Json Rows(const std::vector<T>& rows) {
  return ListOf(rows, [](const T& row) { return ToJson(row); });
}

}  // namespace

Json ToJson(const Run& run) {
  const std::vector<CandidateSummary> candidates = Summarise(run);
  const Headline headline = MakeHeadline(run, candidates);
  Json verdicts = Json::MakeArray();
  for (const Verdict& verdict : run.verdicts) {
    verdicts.Push(VerdictToJson(verdict, Samples::kOmit));
  }
  return Json::MakeObject()
      .Set("format", "roofmark-report")
      .Set("version", 1)
      .Set("title", run.title)
      .Set("headline", Json::MakeObject()
                           .Set("state", headline.state)
                           .Set("sentence", headline.sentence)
                           .Set("detail", headline.detail))
      .Set("provenance", Provenance(run))
      .Set("candidates", Rows(candidates))
      .Set("scores", Rows(run.scores))
      .Set("owners", Rows(OwnerRows(run)))
      .Set("mined", OrNull(run.mined))
      .Set("workloads", Rows(run.workloads))
      .Set("points", Rows(Points(run)))
      .Set("verdict_order",
           ListOf(VerdictOrder(run), [](size_t i) { return Json(static_cast<int64_t>(i)); }))
      .Set("verdicts", std::move(verdicts));
}

}  // namespace roofmark::report
