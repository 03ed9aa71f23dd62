// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>

#include "report/summary_internal.h"

namespace roofmark::report {
namespace {

// Deployed times, roofs and verdicts meet on the workload's three names.
using Key = std::tuple<std::string_view, std::string_view, Phase>;

Key KeyOf(const WorkloadRow& row) {
  return {row.op, row.shape, row.phase};
}
Key KeyOf(const Verdict& verdict) {
  return {verdict.operator_name, verdict.shape, verdict.phase};
}

const ScoreRow* TotalOf(const Run& run, std::string_view candidate) {
  const ScoreRow* found = nullptr;
  for (const ScoreRow& row : run.scores) {
    if (row.candidate != candidate || row.op != "all" || row.phase) continue;
    if (found == nullptr || row.kind == ScoreKind::kRoofmark) found = &row;
  }
  return found;
}

Standing StandingOf(const Run& run, CandidateSummary* summary) {
  bool asked = false;
  bool denied = summary->passed < summary->judged;
  for (const Readiness& answer : run.readiness) {
    if (answer.candidate != summary->candidate) continue;
    asked = true;
    denied = denied || !answer.ready;
    for (const std::string& reason : answer.reasons) {
      const std::string text = answer.op.empty() ? reason : answer.op + ": " + reason;
      if (std::ranges::find(summary->reasons, text) == summary->reasons.end()) {
        summary->reasons.push_back(text);
      }
    }
  }
  if (denied) return Standing::kNotReady;
  return asked ? Standing::kReady : Standing::kGatesPassed;
}

std::optional<Interval> Attainment(const Roof& roof, std::string_view name,
                                   const Verdict& verdict) {
  if (verdict.attainment && verdict.attainment_against == name) return verdict.attainment;
  if (roof.sol_ns <= 0 || !verdict.time_ns || verdict.time_ns->low <= 0) return std::nullopt;
  return Interval{.median = roof.sol_ns / verdict.time_ns->median,
                  .low = roof.sol_ns / verdict.time_ns->high,
                  .high = roof.sol_ns / verdict.time_ns->low};
}

Point PointAt(const WorkloadRow& workload, size_t index, double time_ns) {
  return Point{.workload = index,
               .intensity = workload.bytes > 0 ? workload.ops / workload.bytes : 0,
               .ops_per_s = workload.ops / time_ns * 1e9,
               .bytes_per_s = workload.bytes / time_ns * 1e9};
}

std::string Counted(int64_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

Headline HeadlineOfOne(const CandidateSummary& one) {
  const std::string passed = fmt::format("{} of {} passed every gate", one.passed,
                                         Counted(one.judged, "workload", "workloads"));
  std::string reasons = FailureText(one);
  for (const std::string& reason : one.reasons) {
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  switch (one.standing) {
    case Standing::kReady:
      return {"ready", one.candidate + " is ready", passed};
    case Standing::kGatesPassed:
      return {"gates_passed", one.candidate + " passed every gate",
              passed + "; whether it is ready was not asked"};
    case Standing::kNotReady:
      return {"not_ready", one.candidate + " is not ready", passed + ": " + reasons};
  }
  return {};
}

}  // namespace

std::string_view StandingName(Standing standing) {
  constexpr std::array<std::string_view, 3> kNames = {"ready", "gates_passed", "not_ready"};
  return kNames[static_cast<size_t>(standing)];
}

std::vector<CandidateSummary> Summarise(const Run& run) {
  std::vector<CandidateSummary> summaries;
  std::vector<std::map<Outcome, int64_t>> failures;
  for (const Verdict& verdict : run.verdicts) {
    auto found = std::ranges::find(summaries, verdict.candidate, &CandidateSummary::candidate);
    if (found == summaries.end()) {
      summaries.push_back({.candidate = verdict.candidate, .role = verdict.role});
      failures.emplace_back();
      found = summaries.end() - 1;
    }
    if (std::ranges::find(found->lanes, verdict.lane) == found->lanes.end()) {
      found->lanes.push_back(verdict.lane);
    }
    ++found->judged;
    if (verdict.passed()) {
      ++found->passed;
    } else {
      ++failures[static_cast<size_t>(found - summaries.begin())][verdict.outcome];
    }
  }
  for (size_t i = 0; i < summaries.size(); ++i) {
    CandidateSummary& summary = summaries[i];
    summary.failures.assign(failures[i].begin(), failures[i].end());
    std::ranges::stable_sort(summary.failures, std::greater<>(),
                             &std::pair<Outcome, int64_t>::second);
    if (const ScoreRow* total = TotalOf(run, summary.candidate)) summary.total = *total;
    summary.standing = StandingOf(run, &summary);
  }
  std::ranges::sort(summaries, [](const CandidateSummary& a, const CandidateSummary& b) {
    const auto rank = [](const CandidateSummary& s) {
      return std::make_tuple(s.role, s.total ? -s.total->s : 0.0, std::string_view(s.candidate));
    };
    return rank(a) < rank(b);
  });
  return summaries;
}

std::vector<OwnerRow> OwnerRows(const Run& run) {
  std::map<Key, double> weights;
  for (const WorkloadRow& row : run.workloads) weights[KeyOf(row)] = row.weight.value;

  struct Sums {
    OwnerRow row;
    Shares weighted{};
    double weight = 0;
  };
  std::map<std::tuple<Role, std::string_view, std::string_view>, Sums> all;
  for (const Verdict& verdict : run.verdicts) {
    if (!verdict.shares) continue;
    Sums& sums = all[{verdict.role, verdict.operator_name, verdict.candidate}];
    sums.row.candidate = verdict.candidate;
    sums.row.role = verdict.role;
    sums.row.op = verdict.operator_name;
    ++sums.row.workloads;
    const auto found = weights.find(KeyOf(verdict));
    const double weight = found == weights.end() ? 0 : found->second;
    sums.weight += weight;
    for (size_t i = 0; i < kOwnerCount; ++i) {
      sums.row.shares[i] += (*verdict.shares)[i];
      sums.weighted[i] += weight * (*verdict.shares)[i];
    }
  }
  std::vector<OwnerRow> rows;
  for (auto& [key, sums] : all) {
    const bool by_weight = sums.weight > 0;
    const double total = by_weight ? sums.weight : static_cast<double>(sums.row.workloads);
    for (size_t i = 0; i < kOwnerCount; ++i) {
      sums.row.shares[i] = (by_weight ? sums.weighted[i] : sums.row.shares[i]) / total;
    }
    rows.push_back(std::move(sums.row));
  }
  return rows;
}

std::vector<Point> Points(const Run& run) {
  std::map<Key, std::vector<size_t>> timed;
  for (size_t i = 0; i < run.verdicts.size(); ++i) {
    const Verdict& verdict = run.verdicts[i];
    if (verdict.time_ns && verdict.time_ns->median > 0) timed[KeyOf(verdict)].push_back(i);
  }
  std::vector<Point> points;
  for (size_t w = 0; w < run.workloads.size(); ++w) {
    const WorkloadRow& workload = run.workloads[w];
    const auto found = timed.find(KeyOf(workload));
    if (found == timed.end()) {
      const Roof& roof = workload.datasheet.sol_ns > 0 ? workload.datasheet : workload.measured;
      if (roof.sol_ns > 0) points.push_back(PointAt(workload, w, roof.sol_ns));
      continue;
    }
    for (const size_t v : found->second) {
      const Verdict& verdict = run.verdicts[v];
      Point point = PointAt(workload, w, verdict.time_ns->median);
      point.verdict = v;
      point.against_datasheet = Attainment(workload.datasheet, "datasheet", verdict);
      point.against_measured = Attainment(workload.measured, "measured", verdict);
      points.push_back(point);
    }
  }
  return points;
}

std::string FailureText(const CandidateSummary& candidate) {
  std::string text;
  for (const auto& [outcome, count] : candidate.failures) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", OutcomeName(outcome), count);
  }
  return text;
}

Headline MakeHeadline(const Run& run, const std::vector<CandidateSummary>& candidates) {
  if (run.verdicts.empty()) {
    return {"nothing", "Nothing has been judged",
            fmt::format("the suite has {}", Counted(static_cast<int64_t>(run.workloads.size()),
                                                    "workload", "workloads"))};
  }
  std::array<int64_t, 3> counts{};
  int64_t all = 0;
  std::map<Outcome, int64_t> failures;
  const CandidateSummary* only = nullptr;
  for (const CandidateSummary& candidate : candidates) {
    if (candidate.role == Role::kBaseline) continue;
    only = &candidate;
    ++all;
    ++counts[static_cast<size_t>(candidate.standing)];
    for (const auto& [outcome, count] : candidate.failures) failures[outcome] += count;
  }
  if (all == 1) return HeadlineOfOne(*only);
  if (all == 0) {
    return {"gates_passed",
            fmt::format("{} judged, no candidate",
                        Counted(static_cast<int64_t>(candidates.size()), "baseline", "baselines")),
            ""};
  }
  const int64_t ready = counts[static_cast<size_t>(Standing::kReady)];
  const int64_t passed = counts[static_cast<size_t>(Standing::kGatesPassed)];
  CandidateSummary together;
  together.failures.assign(failures.begin(), failures.end());
  std::ranges::stable_sort(together.failures, std::greater<>(),
                           &std::pair<Outcome, int64_t>::second);
  const std::string failed = FailureText(together);
  const std::string detail = failed.empty() ? "no workload failed" : "failed: " + failed;
  if (ready == 0 && passed == 0) {
    return {"not_ready", fmt::format("None of {} candidates is ready", all), detail};
  }
  if (ready == 0) {
    return {passed == all ? "gates_passed" : "partly_passed",
            fmt::format("{} of {} candidates passed every gate", passed, all),
            detail + "; whether they are ready was not asked"};
  }
  return {ready == all ? "ready" : "partly_ready",
          fmt::format("{} of {} candidates {} ready", ready, all, ready == 1 ? "is" : "are"),
          detail};
}

std::vector<size_t> VerdictOrder(const Run& run) {
  std::vector<size_t> order(run.verdicts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) {
    const Verdict& v = run.verdicts[i];
    return std::make_tuple(v.passed(), v.role, std::string_view(v.operator_name),
                           std::string_view(v.candidate), std::string_view(v.shape));
  });
  return order;
}

}  // namespace roofmark::report
