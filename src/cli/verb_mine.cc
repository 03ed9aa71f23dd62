// SPDX-License-Identifier: Apache-2.0
// roofmark mine: GPU profiles in, one aggregate out, with what each profile holds.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/fleet_table.h"
#include "cli/mine_pages.h"
#include "cli/progress.h"
#include "pipeline/mine_fleet.h"

namespace roofmark::cli {
namespace {

constexpr size_t kShortList = 40;  // profiles that each have a line

double Percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// What of a profile a person should know.
std::string RemarkOn(const ProfileAggregate& aggregate, const trace::ProfileSummary& summary,
                     int64_t unattributed) {
  std::string remark;
  int64_t folded = 0;
  for (const AggregateCell& cell : aggregate.cells) folded += cell.folded;
  if (summary.role == trace::ProfileRole::kCapture) remark = "capture";
  if (static_cast<double>(unattributed) >
      trace::kUnmappedAlarm * static_cast<double>(aggregate.busy_ns)) {
    remark += " ALARM: see --unknown";
  }
  if (folded > 0) remark += fmt::format(" {} shapes beyond the budget", folded);
  if (aggregate.truncated) remark += " truncated";
  if (aggregate.lost_events > 0) remark += fmt::format(" {} events lost", aggregate.lost_events);
  return std::string(Trim(remark));
}

// Of many profiles one name says little: p-0004.json.gz may be in every application's folder.
std::string NameToShow(const fs::path& path, bool of_many) {
  const std::string name = path.filename().string();
  const std::string folder = path.parent_path().filename().string();
  return of_many && !folder.empty() ? folder + "/" + name : name;
}

// A line; without one where there is nothing to remark and `remarks_only`. Returns whether it did.
bool PrintSummary(const trace::ProfileSummary& summary, bool remarks_only) {
  const ProfileAggregate& aggregate = summary.aggregate;
  int64_t unattributed = 0;
  int64_t shaped = 0;
  for (const AggregateCell& cell : aggregate.cells) {
    if (cell.op.empty()) unattributed += cell.exposed_ns;
    if (!cell.axes.empty()) shaped += cell.exposed_ns;
  }
  const std::string remark = RemarkOn(aggregate, summary, unattributed);
  if (remarks_only && remark.empty()) return false;
  fmt::print("{:40} {:>12.1f}% {:>8} {:>10} {:>7.1f}%  {}\n",
             NameToShow(summary.json.Find("profile")->as_string(), remarks_only),
             Percent(unattributed, aggregate.busy_ns), aggregate.launches,
             HumanTime(static_cast<double>(aggregate.busy_ns)), Percent(shaped, aggregate.busy_ns),
             remark);
  return true;
}

std::vector<trace::UnknownKernel> Sorted(
    const std::map<std::string, trace::UnknownKernel>& unknown) {
  std::vector<trace::UnknownKernel> sorted;
  for (const auto& [name, kernel] : unknown) sorted.push_back(kernel);
  std::ranges::stable_sort(sorted, std::greater<>(), &trace::UnknownKernel::exposed_ns);
  return sorted;
}

}  // namespace

Result<int> Mine(const MineArgs& args) {
  if (args.part) return MineOnePart(args);
  if (!args.explain.empty()) return ExplainKernels(args);
  if (args.check) return CheckProfiles(args);
  if (args.merge) return MergeAggregates(args);
  if (args.on != "threads") return MineElsewhere(args);
  const trace::Rules rules = TRY(trace::Rules::LoadDefault());
  const bool text = args.format == Format::kText;
  std::map<std::string, trace::UnknownKernel> unknown;
  int64_t busy_ns = 0;
  size_t left_out = 0;
  bool begun = false;
  Progress progress("mining");
  const auto sink = [&](const trace::ProfileSummary& summary, size_t done, size_t total) {
    if (text) {
      if (!begun) {
        fmt::print("{:40} {:>13} {:>8} {:>10} {:>8}\n", "profile", "unattributed", "kernels",
                   "GPU time", "shaped");
      }
      begun = true;
      left_out += PrintSummary(summary, total > kShortList) ? 0 : 1;
    } else {
      fmt::print("{}\n", trace::SummaryToJson(summary).Dump());
    }
    busy_ns += summary.aggregate.busy_ns;
    for (const trace::UnknownKernel& kernel : summary.unknown) {
      trace::UnknownKernel& into = unknown[kernel.name];
      into.name = kernel.name;
      into.exposed_ns += kernel.exposed_ns;
      into.launches += kernel.launches;
    }
    progress.Show(done, total, "");
  };
  const pipeline::MinedFleet fleet = TRY(pipeline::MineFleet(args.profiles, rules, sink));
  for (const std::string& why : fleet.skipped) fmt::print(stderr, "skipped: {}\n", why);
  if (!args.out.empty()) TRY(WriteFile(args.out, fleet.aggregate.ToJson().Dump() + "\n"));
  if (text) {
    if (left_out > 0) {
      fmt::print("{} profiles with nothing to remark are left out (--json lists them)\n", left_out);
    }
    PrintFleet(fleet.aggregate);
    if (!args.out.empty()) {
      const size_t profiles = fleet.aggregate.profiles().size();
      fmt::print("\naggregate of {} profile{}: {}\n", profiles, profiles == 1 ? "" : "s",
                 args.out.string());
    }
  }
  // Last, so that what was asked for is what one sees.
  if (args.unknown) PrintUnknown(Sorted(unknown), busy_ns, args.format);
  return 0;
}

}  // namespace roofmark::cli
