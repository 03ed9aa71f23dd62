// SPDX-License-Identifier: Apache-2.0
// What a finished run says to a person: Markdown, JSON, and one self-contained HTML page. This
// module reads no store and computes no score; whoever calls it fills a Run with the facts, each
// exactly once, and what can be derived from them (points of the roofline, what failed, device time
// by owner) is derived here, the same for every format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/stats.h"
#include "model/device_card.h"
#include "model/verdict.h"
#include "model/workload.h"

namespace roofmark::report {

// The speed of light of one workload against one set of ceilings. sol_ns 0: there are none.
struct Roof {
  double sol_ns = 0;
  std::string bound_by;  // an engine, "memory" or "launch"
};

// One workload of the suite. Its point on the roofline is (ops / bytes, ops / time); while nothing
// has been measured on it, the page shows it on its roof.
struct WorkloadRow {
  std::string op;
  std::string shape;
  Phase phase = Phase::kUnknown;
  std::string detail;  // the axes for a person, "tokens=2500 hidden=1024"
  Weight weight;
  // The engine whose term of the roofline is the largest, with its operations (not the sum over
  // engines), and the least bytes to move.
  Engine engine = Engine::kVectorF32;
  double ops = 0;
  double bytes = 0;
  Roof datasheet;
  Roof measured;
  double deployed_ns = 0;  // of the deployed kernel in the mined profiles; 0 = unknown
};

// Two scores that are never mixed; src/score/ says what each is.
enum class ScoreKind { kPublished, kRoofmark };
std::string_view ScoreKindName(ScoreKind kind);  // "published" "roofmark"

// Shares (0..1) of the workloads judged that passed the gate, out of all judged.
struct PassRates {
  double compile = 0;
  double correctness = 0;
  double performance = 0;
};

struct ScoreRow {
  std::string candidate;
  Lane lane = Lane::kCpp;
  Role role = Role::kCandidate;
  std::string op;              // "all": the aggregate
  std::optional<Phase> phase;  // absent: all phases
  ScoreKind kind = ScoreKind::kRoofmark;
  double s = 0;
  double low = 0;
  double high = 0;
  double weight = 0;               // 0..1
  std::optional<double> adoption;  // absent where nothing ran
  PassRates pass;
  std::optional<Interval> fleet_time;  // candidate over deployed; under 1 the fleet gains
};

// `judge --require ready` answers; without an answer the report says what the gates say.
struct Readiness {
  std::string candidate;
  std::string op;  // empty: every operator that it was judged on
  bool ready = false;
  std::vector<std::string> reasons;  // what is missing, for a person; empty when ready
};

// What the mined profiles amount to. Times are exposed GPU time.
struct MinedTotals {
  int64_t profiles = 0;
  double gpu_ns = 0;
  double unattributed_ns = 0;
  double loss = 0;  // share of events that the profiler dropped, 0..1
  std::vector<std::pair<std::string, double>> unattributed;  // kernel name, ns; largest first
};

struct Run {
  std::string title;
  std::string date;  // ISO 8601
  std::string suite;
  std::optional<DeviceCard> device;
  std::string driver;
  std::vector<std::pair<std::string, std::string>> versions;  // "CUDA" -> "13.0"
  std::string level;  // what could be enforced on this machine, and what not
  std::vector<std::string> notes;
  std::optional<MinedTotals> mined;
  std::vector<WorkloadRow> workloads;
  std::vector<ScoreRow> scores;
  std::vector<Verdict> verdicts;
  std::vector<Readiness> readiness;
};

// A document for a terminal and for a code host. Names and reasons come from candidates, so nothing
// in them acts as markup or as a terminal's control sequence.
std::string ToMarkdown(const Run& run);

// The whole run as one object, format "roofmark-report", version 1. Requires: finite numbers.
Json ToJson(const Run& run);

// The page. `plotly` is the text of plotly.min.js, which becomes part of it: the page loads
// nothing, and its content security policy forbids it to. Errors: kInput when `plotly` is not that
// library, or could not stand inside a script element.
Result<std::string> ToHtml(const Run& run, std::string_view plotly);

// plotly.min.js under $ROOFMARK_VENDOR, or vendor/ or build/vendor/ of the data folder. Errors:
// kNotFound, with the way to get it.
Result<std::filesystem::path> FindPlotly();

struct Written {
  std::filesystem::path html;
  std::filesystem::path markdown;
  std::filesystem::path json;
};
// report.html, report.md and report.json in `folder`, which is made where it is missing.
Result<Written> WriteReport(const Run& run, const std::filesystem::path& folder);

}  // namespace roofmark::report
