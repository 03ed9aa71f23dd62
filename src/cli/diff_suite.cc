// SPDX-License-Identifier: Apache-2.0
// roofmark suite diff: what changed between two windows of a fleet.
#include <fmt/format.h>

#include <cmath>

#include "cli/args.h"
#include "pipeline/mine_fleet.h"
#include "suite/fleet_diff.h"

namespace roofmark::cli {
namespace {

Json NamesToJson(const std::vector<std::string>& names) {
  Json json = Json::MakeArray();
  for (const std::string& name : names) json.Push(name);
  return json;
}

std::string NameOf(const suite::DiffRow& row) {
  return row.op.empty() ? "unattributed" : row.op;
}

void PrintJson(const suite::FleetDiff& diff) {
  fmt::print("{}\n", Json::MakeObject()
                         .Set("total_variation", diff.total_variation)
                         .Set("mix_variation", diff.mix_variation)
                         .Set("within_variation", diff.within_variation)
                         .Set("threshold", diff.threshold)
                         .Set("p_value", diff.p_value)
                         .Set("permutations", static_cast<int64_t>(diff.permutations))
                         .Set("jensen_shannon", diff.jensen_shannon)
                         .Set("rank_overlap", diff.rank_overlap)
                         .Set("gone", NamesToJson(diff.gone))
                         .Set("new", NamesToJson(diff.fresh))
                         .Dump());
  for (const suite::DiffRow& row : diff.rows) {
    fmt::print("{}\n", Json::MakeObject()
                           .Set("operator", NameOf(row))
                           .Set("phase", PhaseName(row.phase))
                           .Set("before", row.before)
                           .Set("after", row.after)
                           .Set("mix", row.mix)
                           .Set("within", row.within)
                           .Dump());
  }
}

// Percent; what prints as nothing has no sign.
double Points(double change) {
  constexpr double kNothing = 0.00005;
  return std::abs(change) < kNothing ? 0 : 100 * change;
}

void PrintText(const suite::FleetDiff& diff) {
  fmt::print("{:30} {:8} {:>9} {:>9} {:>8} {:>8} {:>8}\n", "operator", "phase", "before", "after",
             "change", "mix", "within");
  constexpr double kShown = 0.00005;
  size_t unchanged = 0;
  for (const suite::DiffRow& row : diff.rows) {
    const double change = row.after - row.before;
    if (std::abs(change) < kShown && std::abs(row.mix) < kShown) {
      ++unchanged;
      continue;
    }
    fmt::print("{:30} {:8} {:>7.2f} % {:>7.2f} % {:>+8.2f} {:>+8.2f} {:>+8.2f}\n", NameOf(row),
               PhaseName(row.phase), 100 * row.before, 100 * row.after, Points(change),
               Points(row.mix), Points(row.within));
  }
  if (unchanged > 0) {
    const bool all = unchanged == diff.rows.size();
    fmt::print("{}{} did not change\n", all ? "all " : "",
               all ? std::to_string(unchanged) : fmt::format("{} more", unchanged));
  }
  for (const std::string& name : diff.gone) fmt::print("gone: {}\n", name);
  for (const std::string& name : diff.fresh) fmt::print("new: {}\n", name);
  fmt::print(
      "\n{:.2f} % of the time is elsewhere (mix of applications {:.2f} %, within them {:.2f} "
      "%); overlap of ranks {:.3f}\n",
      100 * diff.total_variation, 100 * diff.mix_variation, 100 * diff.within_variation,
      diff.rank_overlap);
  if (diff.permutations == 0) {
    fmt::print("too few profiles in both windows to tell change from chance\n");
    return;
  }
  fmt::print(
      "within applications, chance exceeds {:.2f} % in 5 % of {} permutations (p = {:.3f}): "
      "{}\n",
      100 * diff.threshold, diff.permutations, diff.p_value,
      diff.within_variation > diff.threshold ? "they changed" : "no change is shown");
}

}  // namespace

Result<int> DiffSuite(const SuiteArgs& args) {
  if (args.name.empty() || args.other.empty()) {
    return Fail(ErrorKind::kUsage,
                "suite diff needs two aggregates: roofmark suite diff june.json july.json");
  }
  const Aggregate before = TRY(pipeline::ReadAggregate(args.name));
  const Aggregate after = TRY(pipeline::ReadAggregate(args.other));
  const suite::FleetDiff diff = TRY(suite::DiffFleets(before, after, {.seed = args.seed}));
  if (args.format == Format::kJson) {
    PrintJson(diff);
  } else {
    PrintText(diff);
  }
  return 0;
}

}  // namespace roofmark::cli
