// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "exchange/baseline.h"
#include "exchange/export.h"

namespace roofmark::exchange {
namespace {

// KernelBench's own list.
constexpr std::array kThresholds = {0.0, 0.5, 0.8, 1.0, 1.5, 2.0};

struct Tally {
  int64_t n = 0;
  int64_t correct = 0;
  int64_t refused = 0;            // right, but not by the performance gate
  std::vector<double> speed_ups;  // of the correct
};

void Count(const Verdict& verdict, double baseline_ns, Tally* tally) {
  ++tally->n;
  if (verdict.passed()) {
    ++tally->correct;
    tally->speed_ups.push_back(baseline_ns / verdict.time_ns->median);
  } else if (verdict.gate == Gate::kPerformance) {
    ++tally->refused;
  }
}

Json Line(const std::string& name, const Tally& tally, const std::string& baseline) {
  Json fast = Json::MakeObject();
  double logs = 0;
  for (const double speed_up : tally.speed_ups) logs += std::log(speed_up);
  const auto n = static_cast<double>(tally.n);
  for (const double p : kThresholds) {
    const auto faster =
        std::ranges::count_if(tally.speed_ups, [&](double speed_up) { return speed_up > p; });
    fast.Set(fmt::format("{:.1f}", p), static_cast<double>(faster) / n);
  }
  Json line = Json::MakeObject()
                  .Set("candidate", name)
                  .Set("baseline", baseline)
                  .Set("n", tally.n)
                  .Set("correct", tally.correct)
                  .Set("refused_by_performance_gate", tally.refused)
                  .Set("fast_p", std::move(fast));
  // Over the correct ones; none has no mean.
  line.Set("geometric_mean_speedup",
           tally.speed_ups.empty()
               ? Json()
               : Json(std::exp(logs / static_cast<double>(tally.speed_ups.size()))));
  return line;
}

// What cannot be in n, and why; empty for a verdict that can.
std::string Obstacle(const Verdict& verdict, const Baseline& baseline) {
  if (verdict.outcome == Outcome::kUnsupported || verdict.outcome == Outcome::kNotRun) {
    return "could not be judged on this machine";
  }
  if (!baseline.ns.contains(WorkloadId(verdict))) return "without a time of the baseline";
  if (verdict.passed() && !verdict.time_ns) return "passed without a time (judged to a lower gate)";
  return "";
}

}  // namespace

Result<Exported> FastP(const ExportRequest& request) {
  const Baseline baseline = TRY(BaselineOf(request));
  if (baseline.ns.empty()) {
    return Fail(ErrorKind::kNotFound,
                "fast_p compares with a baseline, and none has a time; judge one into the same "
                "store (`suite import` writes one: candidates/NAME/reference)");
  }
  const auto workloads = WorkloadsById(request);
  // One file may have been judged in two lanes; these are two contestants.
  std::map<std::pair<std::string, Lane>, Tally> contestants;
  Tally all;
  std::set<std::string> seen;
  bool unique = true;
  std::map<std::string, int64_t> left_out;
  for (const store::StoredVerdict& stored : request.verdicts) {
    const Verdict& verdict = stored.verdict;
    const std::string id = WorkloadId(verdict);
    if (verdict.role == Role::kBaseline || !workloads.contains(id)) continue;
    if (const std::string obstacle = Obstacle(verdict, baseline); !obstacle.empty()) {
      ++left_out[obstacle];
      continue;
    }
    unique = seen.insert(id).second && unique;
    Count(verdict, baseline.ns.at(id), &contestants[{verdict.candidate, verdict.lane}]);
    Count(verdict, baseline.ns.at(id), &all);
  }
  Exported exported;
  for (const auto& [contestant, tally] : contestants) {
    Json line = Line(contestant.first, tally, baseline.name);
    exported.lines.push_back(line.Set("lane", LaneName(contestant.second)));
  }
  if (unique && contestants.size() > 1) exported.lines.push_back(Line("all", all, baseline.name));
  for (const auto& [why, count] : left_out) {
    exported.left_out.push_back(fmt::format("{} of n: {}", count, why));
  }
  return exported;
}

}  // namespace roofmark::exchange
