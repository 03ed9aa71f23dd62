// SPDX-License-Identifier: Apache-2.0
// From verdicts and weights to figures that can be compared. Two scores are kept apart:
//   published, as arXiv 2607.14541 has it: S = SOL time / time without a launch floor, S_i the
//     median over an operator's correct shapes (0 where there is none), S_agg = sum w_i S_i with
//     the operators' published weights normalised to 1;
//   roofmark: the launch floor inside the SOL time, shapes that did not pass count 0, a weight for
//     each workload, and the same split by phase.
// Beside either: adoption, pass rates by gate, and fleet time. docs/method.md explains each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/stats.h"
#include "model/device_card.h"
#include "model/suite_draws.h"
#include "model/verdict.h"
#include "model/workload.h"
#include "roofline/roofline.h"
#include "score/sampling_error.h"

namespace roofmark::score {

enum class ScoreKind { kPublished, kRoofmark };
std::string_view ScoreKindName(ScoreKind kind);  // "published" "roofmark"
Result<ScoreKind> ParseScoreKind(std::string_view name);

// Which of the suite's workloads a contestant is held to. Workloads without a verdict count as not
// passed wherever they are in scope.
enum class Scope {
  kSuite,      // all of them
  kAttempted,  // all of each operator and tier that the contestant has a verdict on
  kJudged,     // those that it has a verdict on
};

struct ScoreOptions {
  ScoreKind kind = ScoreKind::kRoofmark;
  // Ceilings of the roofmark score; the published one is against datasheet peaks always.
  roofline::CeilingKind against = roofline::CeilingKind::kDatasheet;
  Scope scope = Scope::kAttempted;
  const SuiteDraws* drawn = nullptr;  // how the suite's workloads were drawn; nullptr: none was
  int64_t draws = 1000;
  uint64_t seed = 1;
};

// Shares of the judged workloads that passed the gate. `unsupported` and `not_run` are not judged.
struct PassRates {
  double compile = 0;
  double correctness = 0;
  double performance = 0;
};

struct ScoreRow {
  std::string candidate;
  Lane lane = Lane::kCpp;
  Role role = Role::kCandidate;
  std::string device;
  std::string op;              // "all": the aggregate
  std::optional<Phase> phase;  // absent: all phases
  ScoreKind kind = ScoreKind::kRoofmark;
  Interval s;  // the score and its interval, 0..1
  // The roofmark aggregate if each operator whose split over phases is assumed had all of its
  // weight in the phase that scores least, and in the one that scores most: what the assumption is
  // worth. Absent where no split is assumed.
  std::optional<std::pair<double, double>> phase_extremes;
  double weight = 0;  // of the operator, or of the row's workloads, as the suite states it
  // Own and DSL code's share of device time, mean over workloads by weight; 0 for baselines by
  // definition; absent where nothing ran.
  std::optional<double> adoption;
  PassRates pass;
  // sum of w T / T_deployed over the workloads whose deployed time is known, over their weight;
  // below 1 the fleet gains. A workload that did not pass keeps its deployed kernel, and counts 1.
  std::optional<Interval> fleet_time;
  double fleet_coverage = 0;  // share of the row's weight whose deployed time is known
  // Of S in the roofmark score: what the interval holds because the suite's tail was drawn.
  SamplingError sampling;
  int64_t workloads = 0;  // in scope
  int64_t judged = 0;
  int64_t scored = 0;              // with an attainment in the score
  std::vector<std::string> notes;  // what was left out or capped, for a person
};

// Mean time of a call of the deployed kernel in the mined profiles of this device; 0 where none has
// it. A profile that does not name its device counts for any; other devices' times never do.
double MinedDeployedNs(const Workload& workload, const DeviceCard& card);

// Rows of each contestant (candidate name, lane and role), in order of appearance: its operators,
// then `all`; for the roofmark score also either of them by phase where there is more than one.
//
// `workloads` is the suite; verdicts on other workloads are ignored. All verdicts are of the device
// that `card` describes, at most one for each contestant and workload, with their raw samples.
// A workload's deployed time is MinedDeployedNs, else the released production time on this device.
//
// Published: correct are verdicts that passed, or failed only by `fallback` (the paper reports
// adoption beside the score); those whose time is not trusted (unstable, clocks_disagree,
// unsynchronised, faster_than_light) are not. S over 1 is an error of evaluation and left out. Of
// an operator with published shapes in scope, its other tiers do not count.
// Roofmark: passed verdicts only; S is capped at 1 (a launch floor is measured, and noisy).
// Intervals are 95 %: raw samples and weights are resampled; of a suite whose tail was drawn the
// sampling is added (sampling_error.h), to S of the roofmark score and to fleet time. A published
// score is no estimate of a mean over a fleet, so draws mean nothing to it.
// Errors: kInput for verdicts of two devices, two verdicts on one workload, a passed verdict
// without samples, a card without ceilings, weights that are all 0.
Result<std::vector<ScoreRow>> ComputeScores(std::span<const Workload> workloads,
                                            std::span<const Verdict> verdicts,
                                            const DeviceCard& card, const ScoreOptions& options);

// A line of `roofmark score --json`.
Json ScoreRowToJson(const ScoreRow& row);

}  // namespace roofmark::score
