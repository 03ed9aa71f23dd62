// SPDX-License-Identifier: Apache-2.0
// What tests ask of a mined profile.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/testing.h"
#include "trace/trace.h"

namespace roofmark::trace {

inline const fs::path kSource = ROOFMARK_SOURCE_DIR;
inline const fs::path kRecorded = kSource / "examples/profiles";

inline const Rules& ProjectRules() {
  static const Rules rules = Rules::Load(kSource / "rules").value();
  return rules;
}

inline ProfileSummary Mine(const fs::path& path, const MineOptions& options = {}) {
  Result<ProfileSummary> summary = MineProfile(path, ProjectRules(), options);
  EXPECT_THAT(summary, IsOk());
  return std::move(summary).value_or(ProfileSummary{});
}

inline std::map<std::string, int64_t> TimeByOperator(const ProfileSummary& summary) {
  std::map<std::string, int64_t> times;
  for (const AggregateCell& cell : summary.aggregate.cells) times[cell.op] += cell.exposed_ns;
  return times;
}

inline std::map<Phase, int64_t> TimeByPhase(const ProfileSummary& summary) {
  std::map<Phase, int64_t> times;
  for (const AggregateCell& cell : summary.aggregate.cells) times[cell.phase] += cell.exposed_ns;
  return times;
}

inline std::vector<AggregateCell> CellsOf(const ProfileSummary& summary, std::string_view op) {
  std::vector<AggregateCell> cells;
  for (const AggregateCell& cell : summary.aggregate.cells) {
    if (cell.op == op) cells.push_back(cell);
  }
  return cells;
}

inline int64_t Axis(const AggregateCell& cell, std::string_view axis) {
  const auto found = cell.axes.find(axis);
  return found == cell.axes.end() ? -1 : std::get<int64_t>(found->second);
}

inline std::vector<int64_t> List(const AggregateCell& cell, std::string_view axis) {
  const auto found = cell.axes.find(axis);
  return found == cell.axes.end() ? std::vector<int64_t>{}
                                  : std::get<std::vector<int64_t>>(found->second);
}

inline int64_t Number(const ProfileSummary& summary, std::string_view group, std::string_view key) {
  return summary.json.Find(group)->Find(key)->as_int();
}

}  // namespace roofmark::trace
