// SPDX-License-Identifier: Apache-2.0
// A row of figures as a line of `roofmark score --json`.
#include "score/score.h"

namespace roofmark::score {

Json ScoreRowToJson(const ScoreRow& row) {
  Json fleet;
  if (row.fleet_time) {
    fleet = Json::MakeObject()
                .Set("median", row.fleet_time->median)
                .Set("low", row.fleet_time->low)
                .Set("high", row.fleet_time->high)
                .Set("coverage", row.fleet_coverage);
  }
  Json sampling;
  if (row.sampling.draws > 0) {
    sampling = Json::MakeObject()
                   .Set("draws", row.sampling.draws)
                   .Set("of_weight", row.sampling.drawn)
                   .Set("error", row.sampling.error)
                   .Set("degrees", row.sampling.degrees)
                   .Set("unknown", row.sampling.unknown);
  }
  Json extremes;
  if (row.phase_extremes) {
    extremes = Json::MakeObject()
                   .Set("low", row.phase_extremes->first)
                   .Set("high", row.phase_extremes->second);
  }
  return Json::MakeObject()
      .Set("operator", row.op)
      .Set("phase", row.phase ? Json(PhaseName(*row.phase)) : Json())
      .Set("candidate", row.candidate)
      .Set("lane", LaneName(row.lane))
      .Set("role", row.role == Role::kBaseline ? "baseline" : "candidate")
      .Set("device", row.device)
      .Set("score", ScoreKindName(row.kind))
      .Set("s", row.s.median)
      .Set("low", row.s.low)
      .Set("high", row.s.high)
      .Set("phase_extremes", std::move(extremes))
      .Set("weight", row.weight)
      .Set("adoption", row.adoption ? Json(*row.adoption) : Json())
      .Set("pass_rates", Json::MakeObject()
                             .Set("compile", row.pass.compile)
                             .Set("correctness", row.pass.correctness)
                             .Set("performance", row.pass.performance))
      .Set("fleet_time", std::move(fleet))
      .Set("sampling", std::move(sampling))
      .Set("workloads", row.workloads)
      .Set("judged", row.judged)
      .Set("scored", row.scored)
      .Set("notes", Json::Array(row.notes.begin(), row.notes.end()));
}

}  // namespace roofmark::score
