// SPDX-License-Identifier: Apache-2.0
// Admission, merging of nearby shapes, and the suite document both ways.
#include "suite/from_aggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "suite/aggregate_weights.h"
#include "suite/fleet_bootstrap.h"
#include "suite/imputation.h"
#include "suite/mined_workload.h"
#include "suite/recorded_shares.h"
#include "suite/refresh.h"

namespace roofmark::suite {
namespace {

constexpr std::string_view kFormat = "roofmark-suite/1";

Json ShareToJson(const Share& share) {
  Json json = Json::MakeObject();
  json.Set("value", share.value).Set("low", share.low).Set("high", share.high);
  return json;
}

Json Ends(const Share& share) {
  return Json::Array{share.low, share.high};
}

Json LargestFirst(const std::map<std::string, double>& shares, size_t most) {
  std::vector<std::pair<std::string, double>> sorted(shares.begin(), shares.end());
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [](const auto& entry) { return entry.second; });
  Json list = Json::MakeArray();
  for (size_t i = 0; i < std::min(most, sorted.size()); ++i) {
    list.Push(Json::Array{sorted[i].first, sorted[i].second});
  }
  return list;
}

// Where a workload's share comes from: the part that was imputed, what the share would be if none
// or all of its operator's time without a shape were its own, its applications, and the profiles
// that add most, by the first digits of their hashes (what `mine --merge --without` takes).
void AddOrigin(const MinedWorkload& workload, const FleetWeights& weights, bool impute,
               Json& json) {
  constexpr size_t kProfiles = 5;
  constexpr size_t kDigits = 16;
  std::map<std::string, double> applications;
  std::map<std::string, double> profiles;
  double seen = 0;
  for (const FleetCell* member : workload.members) {
    for (const auto& [profile, time] : member->times) {
      const SampledProfile& from = weights.sampled[profile];
      const double share = from.share_of_ns * time;
      applications[weights.applications[from.application].name] += share;
      profiles[from.hash.substr(0, kDigits)] += share;
      seen += share;
    }
  }
  json.Set("imputed", impute ? workload.imputed : 0);
  json.Set("bounds", Json::Array{seen, std::min(1.0, seen + workload.unknown)});
  json.Set("applications", LargestFirst(applications, applications.size()));
  json.Set("profiles", static_cast<int64_t>(profiles.size()));
  json.Set("largest_profiles", LargestFirst(profiles, kProfiles));
}

Json WorkloadToJson(const MinedWorkload& workload, const SelectedShape& selected,
                    const FleetWeights& weights, const std::optional<RecordedShares>& recorded,
                    bool impute) {
  const FleetCell& shown = *workload.shown;
  Json json = Json::MakeObject();
  json.Set("operator", workload.op->name).Set("shape", MinedShapeId(shown.sums, *workload.op));
  json.Set("phase", PhaseName(shown.sums.phase));
  json.Set("axes", AxesToJson(CardAxes(shown.sums, *workload.op)));
  // What is drawn stands for others, so its interval is theirs in proportion.
  const double scale = workload.share.value > 0 ? selected.weight / workload.share.value : 0;
  json.Set("weight", ShareToJson({.value = std::min(1.0, selected.weight),
                                  .low = std::min(1.0, workload.share.low * scale),
                                  .high = std::min(1.0, workload.share.high * scale)}));
  Json recordings;
  if (recorded) {
    Share again = recorded->rows[selected.workload];
    const double by = again.value > 0 ? selected.weight / again.value : 0;
    recordings =
        Ends({.low = std::min(1.0, again.low * by), .high = std::min(1.0, again.high * by)});
  }
  json.Set("recordings", std::move(recordings));
  Json how = Json::MakeObject();
  how.Set("as", SelectedAsName(selected.as)).Set("probability", selected.probability);
  how.Set("share", workload.share.value);
  how.Set("stratum", selected.stratum.empty() ? Json() : Json(selected.stratum));
  json.Set("selection", std::move(how));
  AddOrigin(workload, weights, impute, json);
  json.Set("deployed_ns", shown.sums.DeployedNs());
  Json deployed = Json::MakeObject();
  for (const auto& [device, time] : shown.deployed_ns) deployed.Set(device, time);
  json.Set("deployed_ns_by_device", std::move(deployed));
  int64_t calls = 0;
  std::map<std::string, KernelUse> kernels;
  for (const FleetCell* member : workload.members) {
    AddCount(calls, member->sums.calls);
    for (const auto& [name, use] : member->sums.kernels) {
      AddCount(kernels[name].launches, use.launches);
      AddCount(kernels[name].sum_ns, use.sum_ns);
    }
  }
  json.Set("merged_shapes", static_cast<int64_t>(workload.members.size()));
  json.Set("merging_residual", workload.residual).Set("calls", calls);
  std::vector<std::pair<std::string, KernelUse>> sorted(kernels.begin(), kernels.end());
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [](const auto& use) { return use.second.sum_ns; });
  Json names = Json::MakeArray();
  Json times = Json::MakeArray();
  for (const auto& [name, use] : sorted) {
    names.Push(name);
    times.Push(Json::Array{use.launches, use.sum_ns});
  }
  json.Set("kernels", std::move(names)).Set("kernel_times", std::move(times));
  return json;
}

// All of the fleet's operators, with what of them is in workloads and why the rest is not.
Json OperatorsToJson(const FleetWeights& weights, const Cards& cards, size_t draws) {
  struct Row {
    size_t index = 0;
    std::map<size_t, double> parts;
    double in_workloads = 0;
    std::map<std::string, double> outside;
    std::map<Phase, double> phases;
    Share share;
  };
  std::map<std::string, Row> rows;
  std::vector<size_t> row_of_cell;
  for (const FleetCell& cell : weights.cells) {
    const auto [found, fresh] = rows.try_emplace(cell.sums.op);
    Row& row = found->second;
    if (fresh) row.index = rows.size() - 1;
    row_of_cell.push_back(row.index);
    for (const auto& [unit, part] : cell.parts) row.parts[unit] += part;
    row.phases[cell.sums.phase] += cell.share.value;
    const auto card = cards.find(cell.sums.op);
    const std::string why = Refusal(cell.sums, card == cards.end() ? nullptr : card->second);
    (why.empty() ? row.in_workloads : row.outside[why]) += cell.share.value;
  }
  std::vector<std::pair<std::string, Row*>> sorted;
  for (auto& [name, row] : rows) {
    row.share = ShareOfParts(row.parts, weights.units);
    sorted.emplace_back(name, &row);
  }
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [](const auto& entry) { return entry.second->share.value; });
  const std::vector<BootstrapRow> fleets =
      BootstrapShares(weights, row_of_cell, rows.size(), {.draws = draws});
  const std::vector<BootstrapRow> samples =
      BootstrapShares(weights, row_of_cell, rows.size(), {.draws = draws, .applications = false});
  const auto recorded = ShareOfRecordings(weights, row_of_cell, rows.size());
  Json json = Json::MakeArray();
  for (const auto& [name, row] : sorted) {
    const BootstrapRow& fleet = fleets[row->index];
    const BootstrapRow& sample = samples[row->index];
    Json entry = Json::MakeObject();
    entry.Set("operator", name.empty() ? "unattributed" : name);
    entry.Set("share", ShareToJson(row->share));
    entry.Set("recordings", recorded ? Ends(recorded->rows[row->index]) : Json());
    entry.Set("bootstrap", Ends(LogOddsInterval(row->share.value, fleet.error,
                                                DegreesOfFreedom(row->parts, weights.units))));
    entry.Set("rank", Json::Array{fleet.rank_low, fleet.rank_high});
    entry.Set("keeps_rank", fleet.keeps_rank);
    entry.Set("rank_of_recordings", Json::Array{sample.rank_low, sample.rank_high});
    entry.Set("in_workloads", row->in_workloads);
    Json outside = Json::MakeObject();
    for (const auto& [why, share] : row->outside) outside.Set(why, share);
    Json phases = Json::MakeObject();
    for (const auto& [phase, share] : row->phases) phases.Set(PhaseName(phase), share);
    entry.Set("outside", std::move(outside)).Set("phases", std::move(phases));
    json.Push(std::move(entry));
  }
  return json;
}

std::string HashOfProfiles(const Aggregate& aggregate) {
  std::string hashes;
  for (const auto& [hash, profile] : aggregate.profiles()) hashes += hash + "\n";
  return Sha256Hex(hashes);
}

Json FleetToJson(const FleetWeights& weights, const Aggregate& aggregate, ShareKind kind) {
  std::set<std::string> applications;
  std::set<std::string> devices;
  for (const auto& [hash, profile] : aggregate.profiles()) {
    if (!profile.application.empty()) applications.insert(profile.application);
    if (!profile.device.empty()) devices.insert(profile.device);
  }
  Json json = Json::MakeObject();
  json.Set("profiles", static_cast<int64_t>(weights.profiles));
  json.Set("profiles_sha256", HashOfProfiles(aggregate));
  json.Set("sampling_units", static_cast<int64_t>(weights.units.size()));
  json.Set("effective_applications", weights.effective);
  json.Set("card_hours", weights.card_hours);
  json.Set("share_of", kind == ShareKind::kPaid ? "card time" : "busy card time");
  Json names = Json::MakeArray();
  for (const std::string& name : applications) names.Push(name);
  Json device_names = Json::MakeArray();
  for (const std::string& name : devices) device_names.Push(name);
  json.Set("applications", std::move(names)).Set("devices", std::move(device_names));
  // What was never seen has at most this share, at 95 %: the rule of three on the effective number.
  if (weights.effective > 0) json.Set("unseen_below", std::min(1.0, 3 / weights.effective));
  json.Set("interval",
           weights.units.size() > 1
               ? fmt::format("delete-one jackknife over {}, 95 %, Student's t in log-odds",
                             weights.units_are_profiles ? "profiles" : "applications")
               : "none: one sampling unit");
  return json;
}

Json StrataToJson(const std::vector<StratumPlan>& strata) {
  Json json = Json::MakeArray();
  for (const StratumPlan& stratum : strata) {
    const bool known = !stratum.deviation_of.empty();
    json.Push(Json::MakeObject()
                  .Set("stratum", stratum.name)
                  .Set("share", stratum.share)
                  .Set("workloads", static_cast<int64_t>(stratum.members))
                  .Set("draws", static_cast<int64_t>(stratum.draws))
                  .Set("deviation", known ? Json(stratum.deviation) : Json())
                  .Set("deviation_of", known ? Json(stratum.deviation_of) : Json()));
  }
  return json;
}

// How many of the workloads, largest first, cover how much of the fleet.
Json CurveToJson(const std::vector<MinedWorkload>& workloads) {
  double all = 0;
  for (const MinedWorkload& workload : workloads) all += workload.share.value;
  Json json = Json::MakeArray();
  double covered = 0;
  size_t count = 0;
  for (const double level : {0.5, 0.8, 0.9, 0.95, 1.0}) {
    while (count < workloads.size() && covered < level * all * (1 - 1e-12)) {
      covered += workloads[count++].share.value;
    }
    json.Push(Json::MakeObject()
                  .Set("of_admitted", level)
                  .Set("shapes", static_cast<int64_t>(count))
                  .Set("of_fleet", covered));
  }
  return json;
}

Json MixToJson(const std::vector<ReweighedPhase>& reweighed) {
  Json json = Json::MakeArray();
  for (const ReweighedPhase& phase : reweighed) {
    json.Push(Json::MakeObject()
                  .Set("phase", PhaseName(phase.phase))
                  .Set("mined", phase.mined)
                  .Set("weighed", phase.weighed));
  }
  return json;
}

// The fleet's weights as the options ask for them.
struct Weighed {
  FleetWeights weights;
  NewWindow window;
  std::vector<ReweighedPhase> phases;  // empty: as mined
};

Result<Weighed> WeighForSuite(const Aggregate& aggregate, const BuildOptions& options) {
  Weighed weighed;
  std::vector<WeighedWindow> windows = {{.aggregate = &aggregate}};
  if (options.older != nullptr) {
    weighed.window =
        WeighNewWindow(*options.older, aggregate, options.share_of, options.new_weight);
    windows[0].weight = weighed.window.weight;
    windows.insert(windows.begin(),
                   {.aggregate = options.older, .weight = 1 - weighed.window.weight});
  }
  weighed.weights = WeighWindows(windows, options.share_of);
  if (weighed.weights.total == 0) {
    return Fail(ErrorKind::kInput, "the aggregate holds no GPU time: mine profiles with kernels");
  }
  if (!options.phase_mix.empty()) {
    weighed.phases = TRY(ReweighPhases(options.phase_mix, weighed.weights));
  }
  return weighed;
}

void AddHowWeighed(const Weighed& weighed, const BuildOptions& options, Json& json) {
  if (options.older != nullptr) {
    json.Set("smoothing", Json::MakeObject()
                              .Set("new_weight", weighed.window.weight)
                              .Set("from", weighed.window.from)
                              .Set("older_profiles_sha256", HashOfProfiles(*options.older)));
  }
  if (!weighed.phases.empty()) json.Set("phase_mix", MixToJson(weighed.phases));
}

void AddRefreshed(const Json& previous, const Cards& cards, Json& workloads, Json& json) {
  Refreshed refreshed = RefreshShapes(previous, workloads.array(), cards);
  json.Set("refresh", Json::MakeObject()
                          .Set("kept", static_cast<int64_t>(refreshed.kept))
                          .Set("new", static_cast<int64_t>(refreshed.fresh))
                          .Set("retiring", static_cast<int64_t>(refreshed.retiring.size()))
                          .Set("retired", static_cast<int64_t>(refreshed.retired)));
  for (Json& workload : refreshed.retiring) workloads.Push(std::move(workload));
}

}  // namespace

Result<Json> BuildSuite(const Aggregate& aggregate,
                        std::span<const std::unique_ptr<const Operator>> operators,
                        const BuildOptions& options) {
  const Weighed weighed = TRY(WeighForSuite(aggregate, options));
  const FleetWeights& weights = weighed.weights;
  Cards cards;
  for (const auto& op : operators) cards[op->name] = op.get();
  double unattributed = 0;
  for (const FleetCell& cell : weights.cells) {
    if (cell.sums.op.empty()) unattributed += cell.share.value;
  }
  std::vector<size_t> row_of_cell;
  std::set<std::string> keep;
  if (options.previous != nullptr) {
    keep = TRY_IN(ShapesOfSuite(*options.previous), "the previous suite");
  }
  const Imputation imputation = ImputeShapes(weights, cards);
  const std::vector<MinedWorkload> merged = MergeCells(
      weights, cards, imputation,
      {.cost = options.cost, .impute = options.impute, .keep = std::move(keep)}, row_of_cell);
  const auto recorded = ShareOfRecordings(weights, row_of_cell, merged.size());
  const SelectedShapes selected = SelectShapes(merged, options.select);
  double covered = 0;
  double certain = 0;
  for (const MinedWorkload& workload : merged) covered += workload.share.value;
  for (const SelectedShape& shape : selected.shapes) {
    if (shape.as == SelectedAs::kCertain) certain += shape.weight;
  }
  Json json = Json::MakeObject();
  json.Set("format", kFormat).Set("label", WeightLabelName(WeightLabel::kMined));
  json.Set("fleet", FleetToJson(weights, aggregate, options.share_of));
  AddHowWeighed(weighed, options, json);
  json.Set("coverage", covered).Set("certain", certain);
  json.Set("outside", std::max(0.0, weights.total - covered)).Set("unattributed", unattributed);
  double imputable = 0;
  for (const MinedWorkload& workload : merged) imputable += workload.imputed;
  json.Set("shape_unknown", imputation.total).Set("imputable", imputable);
  json.Set("imputed", options.impute ? imputable : 0);
  json.Set("coverage_curve", CurveToJson(merged));
  json.Set("seed", static_cast<int64_t>(options.select.seed));
  json.Set("strata", StrataToJson(selected.strata));
  json.Set("operators", OperatorsToJson(weights, cards, options.draws));
  Json workloads = Json::MakeArray();
  for (const SelectedShape& shape : selected.shapes) {
    workloads.Push(
        WorkloadToJson(merged[shape.workload], shape, weights, recorded, options.impute));
  }
  if (options.previous != nullptr) AddRefreshed(*options.previous, cards, workloads, json);
  json.Set("workloads", std::move(workloads));
  return json;
}

Result<Json> BuildSuite(const Aggregate& aggregate) {
  const auto operators = TRY(ReadAllOperators());
  return BuildSuite(aggregate, operators);
}

}  // namespace roofmark::suite
