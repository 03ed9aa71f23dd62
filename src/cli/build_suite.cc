// SPDX-License-Identifier: Apache-2.0
// roofmark suite build: an aggregate's weights, and the shapes that stand for them.
#include <fmt/format.h>

#include <map>

#include "base/files.h"
#include "base/hash.h"
#include "cli/args.h"
#include "cli/mined_suite_table.h"
#include "pipeline/mine_fleet.h"
#include "roofline/device_file.h"
#include "roofline/roofline.h"
#include "store/store.h"
#include "suite/fleet_diff.h"
#include "suite/from_aggregate.h"
#include "suite/refresh.h"
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

// What was attained in earlier rounds, on whatever shapes; what did not compile or was wrong
// attained nothing, and a time that is not trusted says nothing.
Result<std::vector<suite::Attained>> ReadAttained(const fs::path& path) {
  const store::Store store = TRY(store::Store::Open(path, OpenMode::kReadOnly));
  std::vector<suite::Attained> attained;
  for (const Verdict& verdict : TRY(store.LatestVerdicts({}))) {
    if (verdict.outcome == Outcome::kNotRun || verdict.outcome == Outcome::kUnsupported) continue;
    if (verdict.passed() ? !verdict.attainment : verdict.gate == Gate::kPerformance) continue;
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
  options.new_weight = args.new_weight;
  if (!args.judged.empty()) options.select.attained = TRY(ReadAttained(args.judged));
  if (!args.phase_mix.empty()) {
    options.phase_mix = TRY_IN(suite::ParsePhaseMix(args.phase_mix), "--phase-mix");
  }
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

// What a suite is a refresh of.
struct Earlier {
  std::optional<Aggregate> aggregate;
  std::optional<Json> suite;
};

Result<Earlier> ReadEarlier(const SuiteArgs& args) {
  if (args.new_weight && args.smooth.empty()) {
    return Fail(ErrorKind::kUsage,
                "--new-weight says how much the newer of two windows counts: "
                "name the older one with --smooth june.json");
  }
  Earlier earlier;
  if (!args.smooth.empty()) earlier.aggregate = TRY(pipeline::ReadAggregate(args.smooth));
  if (!args.previous.empty()) {
    earlier.suite = TRY(ReadJson(args.previous));
    TRY_IN(suite::ShapesOfSuite(*earlier.suite), "--previous " + args.previous.string());
  }
  return earlier;
}

// A second draw of the tail from the same strata, by a secret seed: to be judged now and then, and
// never shown to whoever writes kernels.
Result<void> WriteRotation(const SuiteArgs& args, const Aggregate& aggregate,
                           suite::BuildOptions options) {
  options.select.seed = static_cast<uint64_t>(RandomSeed());
  options.draws = 0;
  options.previous = nullptr;
  const auto operators = TRY(suite::ReadAllOperators());
  const Json suite = TRY(suite::BuildSuite(aggregate, operators, options));
  return WriteFile(args.rotation, suite.Dump(1) + "\n");
}

// Smoothing lags behind what really changed, so that is told.
void PrintWhetherChanged(const Aggregate& older, const Aggregate& newer) {
  const auto diff = suite::DiffFleets(older, newer);
  if (!diff || diff->permutations == 0 || diff->within_variation <= diff->threshold) return;
  fmt::print(
      "applications changed between the windows (p = {:.3f}, `suite diff`): smoothed weights "
      "lag behind that\n",
      diff->p_value);
}

void PrintWhatJudgedTold(const Json& suite, size_t verdicts) {
  const Json::Array& strata = suite.Find("strata")->array();
  const bool told = std::ranges::any_of(
      strata, [](const Json& stratum) { return !stratum.Find("deviation")->is_null(); });
  if (told || strata.empty()) return;
  fmt::print(
      "--judged changed nothing: of {} attainments no four are of one candidate on shapes of "
      "this fleet\n",
      verdicts);
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
  suite::BuildOptions options = TRY(OptionsOf(args, aggregate));
  const Earlier earlier = TRY(ReadEarlier(args));
  if (earlier.aggregate) options.older = &*earlier.aggregate;
  if (earlier.suite) options.previous = &*earlier.suite;
  const Json suite = TRY(suite::BuildSuite(aggregate, operators, options));
  if (!args.rotation.empty()) TRY(WriteRotation(args, aggregate, options));
  if (!args.out.empty()) TRY(WriteFile(args.out, suite.Dump(1) + "\n"));
  if (args.format == Format::kJson) {
    for (const Json& workload : suite.Find("workloads")->array()) {
      fmt::print("{}\n", workload.Dump());
    }
  } else {
    TRY(PrintMinedSuite(suite));
    if (!args.judged.empty()) PrintWhatJudgedTold(suite, options.select.attained.size());
    if (!args.out.empty()) fmt::print("suite: {}\n", args.out.string());
    if (earlier.aggregate) PrintWhetherChanged(*earlier.aggregate, aggregate);
  }
  if (!args.stubs.empty()) {
    PrintStubs(TRY(suite::WriteStubs(aggregate, operators, args.stubs)), args.format);
  }
  return 0;
}

}  // namespace roofmark::cli
