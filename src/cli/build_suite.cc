// SPDX-License-Identifier: Apache-2.0
// roofmark suite build: an aggregate's weights, and the shapes that stand for them.
#include <fmt/format.h>

#include <map>

#include "base/files.h"
#include "base/hash.h"
#include "cli/args.h"
#include "cli/fleet_table.h"
#include "pipeline/mine_fleet.h"
#include "roofline/device_file.h"
#include "roofline/roofline.h"
#include "store/store.h"
#include "suite/from_aggregate.h"
#include "suite/stub.h"

namespace roofmark::cli {
namespace {

// The card of the device on which the fleet spends most of its time, where there is one.
Result<std::optional<DeviceCard>> DeviceOfFleet(const Aggregate& aggregate) {
  std::map<std::string, int64_t> busy;
  for (const auto& [hash, profile] : aggregate.profiles()) {
    AddCount(busy[profile.device], profile.busy_ns);
  }
  const auto most =
      std::ranges::max_element(busy, {}, [](const auto& entry) { return entry.second; });
  std::optional<DeviceCard> found;
  if (most == busy.end()) return found;
  // "NVIDIA H200" is H200; of H20 and H200 the longer name is meant.
  for (DeviceCard& card : TRY(roofline::ReadDevices(TRY(DataDir()) / "devices"))) {
    const bool longer = !found || card.name.size() > found->name.size();
    if (longer && most->first.find(card.name) != std::string::npos) found = std::move(card);
  }
  return found;
}

// What was attained in earlier rounds, on whatever shapes; those that were refused attained
// nothing.
Result<std::vector<suite::Attained>> ReadAttained(const fs::path& path) {
  const store::Store store = TRY(store::Store::Open(path, OpenMode::kReadOnly));
  std::vector<suite::Attained> attained;
  for (const Verdict& verdict : TRY(store.LatestVerdicts({}))) {
    if (verdict.outcome == Outcome::kNotRun || verdict.outcome == Outcome::kUnsupported) continue;
    if (verdict.passed() && !verdict.attainment) continue;
    attained.push_back(
        {.candidate = fmt::format("{} {} {} {}", verdict.candidate, LaneName(verdict.lane),
                                  verdict.device, ModeName(verdict.mode)),
         .workload = verdict.operator_name + "/" + verdict.shape,
         .attainment = verdict.passed() ? verdict.attainment->median : 0});
  }
  return attained;
}

Result<suite::BuildOptions> OptionsOf(const SuiteArgs& args, const Aggregate& aggregate) {
  suite::BuildOptions options;
  options.select = {.shapes = args.shapes_wanted, .coverage = args.coverage, .seed = args.seed};
  options.impute = args.impute;
  if (!args.judged.empty()) options.select.attained = TRY(ReadAttained(args.judged));
  if (args.busy) options.share_of = suite::ShareKind::kBusy;
  if (const std::optional<DeviceCard> card = TRY(DeviceOfFleet(aggregate))) {
    options.cost = [card = *card](const Workload& workload) {
      const roofline::SolTime sol = roofline::ComputeSol(
          workload, card, roofline::CeilingKind::kDatasheet, roofline::LaunchFloor::kWithout);
      return suite::ShapeCost{.ns = sol.sol_ns, .bound_by = sol.bound_by};
    };
  }
  return options;
}

// A second draw of the tail from the same strata, by a secret seed: to be judged now and then, and
// never shown to whoever writes kernels.
Result<void> WriteRotation(const SuiteArgs& args, const Aggregate& aggregate,
                           suite::BuildOptions options) {
  options.select.seed = static_cast<uint64_t>(RandomSeed());
  options.draws = 0;
  const auto operators = TRY(suite::ReadAllOperators());
  const Json suite = TRY(suite::BuildSuite(aggregate, operators, options));
  return WriteFile(args.rotation, suite.Dump(1) + "\n");
}

void PrintSelection(const Json& suite) {
  std::map<std::string, int64_t> counts;
  for (const Json& workload : suite.Find("workloads")->array()) {
    ++counts[workload.Find("selection")->Find("as")->as_string()];
  }
  if (counts["tail"] + counts["robustness"] > 0) {
    fmt::print("{} for sure ({:.1f} %), {} drawn for the rest, {} extremes without weight\n",
               counts["certain"], 100 * suite.Find("certain")->as_double(), counts["tail"],
               counts["robustness"]);
  }
  if (const auto& strata = suite.Find("strata")->array(); !strata.empty()) {
    const auto measured = std::ranges::count_if(
        strata, [](const Json& stratum) { return !stratum.Find("deviation")->is_null(); });
    fmt::print("the tail has {} strata, drawn from {}\n", strata.size(),
               measured > 0 ? "by share and by how attainment varied in earlier rounds"
                            : "by share (--judged STORE: also by how attainment varied)");
  }
  for (const Json& point : suite.Find("coverage_curve")->array()) {
    fmt::print("{}{:.0f} % by {}",
               &point == &suite.Find("coverage_curve")->array().front() ? "of what they speak for: "
                                                                        : ", ",
               100 * point.Find("of_admitted")->as_double(), point.Find("shapes")->as_int());
  }
  fmt::print(" shapes\n");
}

// "1", or "1-3" where other fleets of this kind would rank it so.
std::string RankText(const Json& row) {
  const Json::Array& rank = row.Find("rank")->array();
  return rank[0].as_int() == rank[1].as_int()
             ? fmt::format("{}", rank[0].as_int())
             : fmt::format("{}-{}", rank[0].as_int(), rank[1].as_int());
}

void PrintOperators(const Json& suite) {
  fmt::print("{:28} {:>8} {:>16} {:>16} {:>6} {:>12}\n", "share of GPU time (95 %)", "",
             "recorded again", "fleets like it", "rank", "in workloads");
  for (const Json& row : suite.Find("operators")->array()) {
    const Json& share = *row.Find("share");
    const Json& recorded = *row.Find("recordings");
    fmt::print("{:28} {:>6.2f} % {:>16} {:>16} {:>6} {:>10.2f} %\n",
               row.Find("operator")->as_string(), 100 * share.Find("value")->as_double(),
               recorded.is_null()
                   ? "once only"
                   : IntervalText(recorded.array()[0].as_double(), recorded.array()[1].as_double()),
               IntervalText(share.Find("low")->as_double(), share.Find("high")->as_double()),
               RankText(row), 100 * row.Find("in_workloads")->as_double());
  }
}

// What is known of operators with a card whose shapes are not.
void PrintUnshaped(const Json& suite) {
  const double unknown = suite.Find("shape_unknown")->as_double();
  const double imputable = suite.Find("imputable")->as_double();
  if (!(unknown > 0)) return;
  const bool imputed = suite.Find("imputed")->as_double() > 0;
  fmt::print("shapes unknown: {:.2f} %, of which {:.2f} % {} over known shapes{}\n", 100 * unknown,
             100 * imputable, imputed ? "are spread" : "could be spread",
             imputed || !(imputable > 0) ? "" : ": --impute");
  const bool axes = std::ranges::any_of(suite.Find("operators")->array(), [](const Json& row) {
    return std::ranges::any_of(row.Find("outside")->object(), [](const auto& reason) {
      return reason.first.starts_with("axis ") && reason.first.ends_with(" not recorded");
    });
  });
  if (axes)
    fmt::print("sizes of the model: the manifest's column `config` tells what profiles lack\n");
}

// The mass outside the suite and why it is there, largest first.
void PrintOutside(const Json& suite) {
  std::map<std::string, double> shares;
  for (const Json& row : suite.Find("operators")->array()) {
    for (const auto& [why, share] : row.Find("outside")->object()) shares[why] += share.as_double();
  }
  std::vector<std::pair<std::string, double>> sorted(shares.begin(), shares.end());
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [](const auto& entry) { return entry.second; });
  fmt::print("\nmass outside the suite: {:.2f} %\n", 100 * suite.Find("outside")->as_double());
  for (const auto& [why, share] : sorted) fmt::print("  {:>6.2f} %  {}\n", 100 * share, why);
}

void PrintBuilt(const Json& suite, const fs::path& out) {
  PrintOperators(suite);
  PrintOutside(suite);
  fmt::print("{} mined workloads speak for {:.1f} % of the fleet's GPU time",
             suite.Find("workloads")->array().size(), 100 * suite.Find("coverage")->as_double());
  fmt::print("; {:.2f} % is unattributed\n", 100 * suite.Find("unattributed")->as_double());
  PrintUnshaped(suite);
  PrintSelection(suite);
  if (!out.empty()) fmt::print("suite: {}\n", out.string());
}

void PrintStubs(const std::vector<suite::Stub>& stubs, Format format) {
  for (const suite::Stub& stub : stubs) {
    const std::string folder = stub.folder.string();
    if (format == Format::kJson) {
      fmt::print("{}\n", Json::MakeObject()
                             .Set("operator", stub.op)
                             .Set("share", stub.share)
                             .Set("shapes", static_cast<int64_t>(stub.shapes))
                             .Set("stub", folder.empty() ? Json() : Json(folder))
                             .Set("why_not", stub.why_not)
                             .Dump());
    } else if (folder.empty()) {
      fmt::print("no stub of {}: {}\n", stub.op, stub.why_not);
    } else {
      fmt::print("stub of {} ({:.2f} % of the fleet, {} shape{}): {}\n", stub.op, 100 * stub.share,
                 stub.shapes, stub.shapes == 1 ? "" : "s", folder);
    }
  }
}

}  // namespace

Result<int> BuildSuite(const SuiteArgs& args) {
  if (args.name.empty()) {
    return Fail(ErrorKind::kUsage,
                "suite build needs an aggregate: roofmark suite build fleet.json -o suite.json");
  }
  const Aggregate aggregate = TRY(pipeline::ReadAggregate(args.name));
  const auto operators = TRY(suite::ReadAllOperators());
  const suite::BuildOptions options = TRY(OptionsOf(args, aggregate));
  const Json suite = TRY(suite::BuildSuite(aggregate, operators, options));
  if (!args.rotation.empty()) TRY(WriteRotation(args, aggregate, options));
  if (!args.out.empty()) TRY(WriteFile(args.out, suite.Dump(1) + "\n"));
  if (args.format == Format::kJson) {
    for (const Json& workload : suite.Find("workloads")->array()) {
      fmt::print("{}\n", workload.Dump());
    }
  } else {
    PrintBuilt(suite, args.out);
  }
  if (!args.stubs.empty()) {
    PrintStubs(TRY(suite::WriteStubs(aggregate, operators, args.stubs)), args.format);
  }
  return 0;
}

}  // namespace roofmark::cli
