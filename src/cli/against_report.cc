// SPDX-License-Identifier: Apache-2.0
#include "cli/against_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "pipeline/against_total.h"

namespace roofmark::cli {
namespace {

constexpr std::string_view kOfBaseline =
    "it calls itself a baseline: two baselines are compared, and no candidate is shown to be "
    "better";

// A total is about all workloads, so it has no shape and no phase.
Json LineOf(const Against& against, const std::string& op, const std::string& candidate) {
  Json json = AgainstToJson(against);
  Json line = Json::MakeObject().Set("operator", op);
  line.Set("shape", Json()).Set("phase", Json()).Set("candidate", candidate);
  for (const char* key :
       {"baseline", "comparison", "ratio", "blocks", "margin", "error_rate", "reason"}) {
    line.Set(key, *json.Find(key));
  }
  return line;
}

}  // namespace

std::string AgainstText(const Against& against) {
  std::string text = fmt::format("{:9}", StandingName(against.standing));
  if (against.ratio) {
    text += fmt::format(" {:.4f} [{:.4f}, {:.4f}] of its time, {} blocks, margin {:.1f} %",
                        against.ratio->median, against.ratio->low, against.ratio->high,
                        against.blocks, 100 * against.margin);
  }
  if (!against.reason.empty()) text += fmt::format("  ({})", ValidUtf8(against.reason));
  return text;
}

std::string TotalText(size_t workloads, const std::string& candidate, const Against& total,
                      bool not_slower) {
  return fmt::format("total of {} workloads, {} against {}: {}; {}\n", workloads, candidate,
                     total.baseline, AgainstText(total),
                     not_slower ? "on no weighted workload slower"
                                : "not shown to be no slower on every weighted workload");
}

void AgainstReport::Add(const Verdict& verdict, Format format) {
  if (!verdict.against) return;
  const auto workload = std::ranges::find_if(workloads_, [&](const Workload& one) {
    return one.op->name == verdict.operator_name && one.shape.id == verdict.shape &&
           one.shape.phase == verdict.phase;
  });
  auto side = std::ranges::find_if(sides_, [&](const Side& one) {
    return one.candidate == verdict.candidate && one.hash == verdict.candidate_hash;
  });
  if (side == sides_.end()) {
    side = sides_.insert(
        sides_.end(),
        {.candidate = verdict.candidate, .hash = verdict.candidate_hash, .role = verdict.role});
  }
  side->lines.push_back({.weight = workload == workloads_.end() ? 0 : workload->weight.value,
                         .operator_name = verdict.operator_name,
                         .against = *verdict.against});
  if (format == Format::kJson) {
    Json line = LineOf(*verdict.against, verdict.operator_name, verdict.candidate);
    line.Set("shape", verdict.shape).Set("phase", PhaseName(verdict.phase)).Set("total", false);
    line.Set("of_baseline", verdict.role == Role::kBaseline);
    fmt::print("{}\n", line.Dump());
  } else {
    fmt::print("    against {}: {}\n", verdict.against->baseline, AgainstText(*verdict.against));
  }
  std::fflush(stdout);
}

AgainstSummary AgainstReport::FinishSide(const Side& side, Format format) const {
  std::vector<pipeline::WeighedComparison> weighed;
  for (const Line& line : side.lines) {
    weighed.push_back({.weight = line.weight, .against = &line.against});
  }
  const bool not_slower = pipeline::NotSlowerAnywhere(weighed);
  const Against total = pipeline::TotalAgainst(weighed, total_error_rate_);
  if (format == Format::kJson) {
    Json line = LineOf(total, side.lines.front().operator_name, side.candidate);
    line.Set("total", true)
        .Set("workloads", static_cast<int64_t>(side.lines.size()))
        .Set("not_slower_anywhere", not_slower)
        .Set("of_baseline", side.role == Role::kBaseline);
    fmt::print("{}\n", line.Dump());
  } else {
    fmt::print("{}", TotalText(side.lines.size(), side.candidate, total, not_slower));
    if (side.role == Role::kBaseline) fmt::print("    {}\n", kOfBaseline);
  }
  return {.candidate = side.candidate,
          .hash = side.hash,
          .role = side.role,
          .total = total,
          .not_slower = not_slower};
}

std::vector<AgainstSummary> AgainstReport::Finish(Format format) const {
  std::vector<AgainstSummary> summaries;
  for (const Side& side : sides_) summaries.push_back(FinishSide(side, format));
  return summaries;
}

}  // namespace roofmark::cli
