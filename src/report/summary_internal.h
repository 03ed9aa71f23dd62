// SPDX-License-Identifier: Apache-2.0
// What a reader wants to know first, derived once for all formats: how each candidate stands, what
// failed, whose code its device time went to, and where each workload lies on the roofline.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/report.h"

namespace roofmark::report {

enum class Standing {
  kReady,        // asked, and ready
  kGatesPassed,  // every verdict passed; readiness was not asked
  kNotReady,     // a verdict failed, or readiness was asked and denied
};
std::string_view StandingName(Standing standing);  // "ready" "gates_passed" "not_ready"

struct CandidateSummary {
  std::string candidate;
  std::vector<Lane> lanes;
  Role role = Role::kCandidate;
  Standing standing = Standing::kNotReady;
  std::vector<std::string> reasons;  // of readiness, without duplicates
  int64_t judged = 0;
  int64_t passed = 0;
  std::vector<std::pair<Outcome, int64_t>> failures;  // most frequent first
  std::optional<ScoreRow> total;  // its aggregate of kind roofmark, or else published
};

// Candidates first, then baselines; within each the best total first, then by name.
std::vector<CandidateSummary> Summarise(const Run& run);

// Whose code a candidate's device time on an operator went to: the mean over its workloads with
// shares, by importance; where none of these has a weight, all count the same.
struct OwnerRow {
  std::string candidate;
  Role role = Role::kCandidate;
  std::string op;
  int64_t workloads = 0;
  Shares shares{};
};
std::vector<OwnerRow> OwnerRows(const Run& run);

// One point of the roofline: a measured verdict, or a workload on its roof because no verdict on it
// has a time. Indices into run.workloads and run.verdicts.
struct Point {
  size_t workload = 0;
  std::optional<size_t> verdict;
  double intensity = 0;    // operations of the engine per byte
  double ops_per_s = 0;    // of the engine; on the roof where nothing was measured
  double bytes_per_s = 0;  // likewise
  std::optional<Interval> against_datasheet;  // attainment
  std::optional<Interval> against_measured;
};
// Every workload has at least one point, unless it has neither a time nor a roof.
std::vector<Point> Points(const Run& run);

struct Headline {
  // "ready" and "partly_ready" where readiness was asked, else "gates_passed" and "partly_passed";
  // "not_ready"; "nothing" without verdicts.
  std::string state;
  std::string sentence;
  std::string detail;
};
Headline MakeHeadline(const Run& run, const std::vector<CandidateSummary>& candidates);

// "wrong_output 2, crashed 1".
std::string FailureText(const CandidateSummary& candidate);

// The verdicts in the order in which they are shown: failed first, then by operator, shape and
// candidate. Indices into run.verdicts.
std::vector<size_t> VerdictOrder(const Run& run);

}  // namespace roofmark::report
