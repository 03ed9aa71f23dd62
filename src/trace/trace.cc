// SPDX-License-Identifier: Apache-2.0
// The flow of mining as a page: read, link, attribute, add up.
#include "trace/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/check.h"
#include "base/files.h"
#include "base/text.h"
#include "trace/attribution.h"
#include "trace/execution_trace.h"
#include "trace/exposed.h"
#include "trace/op_ids.h"
#include "trace/phase_split.h"
#include "trace/profile_format.h"
#include "trace/traced_names.h"

namespace roofmark::trace {
namespace {

// Whose kernels belong to which cell, before they are added up.
std::vector<AggregateCell> MakeCells(const Profile& profile, const Attribution& attribution,
                                     const Exposure& exposure) {
  std::vector<AggregateCell> cells(attribution.claims.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    const Claim& claim = attribution.claims[i];
    cells[i].op = claim.op;
    cells[i].axes = claim.axes;
    cells[i].dtypes = claim.dtypes;
    cells[i].phase = claim.phase;
  }
  std::unordered_map<uint64_t, KernelUse> uses;  // by claim and name
  uses.reserve(1024);
  std::vector<bool> counted;
  for (uint32_t row = 0; row < profile.kernels.size(); ++row) {
    const Launch kernel = profile.kernels[row];
    const uint32_t claim = attribution.claim_of[row];
    AggregateCell& cell = cells[claim];
    ++cell.launches;
    int64_t sum = kernel.dur_ns;
    int64_t exposed = exposure.exposed_ns[row];
    if (const auto& split = attribution.claims[claim].split) {
      const int64_t sum_there = PartOf(sum, split->part, split->whole);
      const int64_t exposed_there = PartOf(exposed, split->part, split->whole);
      cells[split->other].sum_ns += sum_there;
      cells[split->other].exposed_ns += exposed_there;
      cells[split->other].elsewhere_ns += sum - sum_there;
      cell.elsewhere_ns += sum_there;
      uses[uint64_t{split->other} << 32 | kernel.name].sum_ns += sum_there;
      sum -= sum_there;
      exposed -= exposed_there;
    }
    cell.durations.Add(kernel.dur_ns);
    cell.sum_ns += sum;
    cell.exposed_ns += exposed;
    KernelUse& use = uses[uint64_t{claim} << 32 | kernel.name];
    ++use.launches;
    use.sum_ns += sum;
    // A known call counts once, whatever it launches; otherwise each main kernel is a call.
    const uint32_t call = attribution.call_of[row];
    bool counts = !attribution.auxiliary[row];
    if (call != kNone32) {
      if (call >= counted.size()) counted.resize(call + 1 + call / 2);
      counts = !counted[call];
      counted[call] = true;
    }
    if (!counts) continue;
    ++cell.calls;
    if (const auto& split = attribution.claims[claim].split) ++cells[split->other].elsewhere_calls;
    for (const auto& [name, value] : attribution.claims[claim].measures) {
      cell.measures[name].Add(value);
    }
  }
  for (const auto& [key, use] : uses) {
    const auto name = static_cast<TextId>(key);
    KernelUse& into = cells[key >> 32].kernels[ValidUtf8(profile.text.Text(name))];
    into.launches += use.launches;
    into.sum_ns += use.sum_ns;
  }
  for (AggregateCell& cell : cells) MeasureLengths(cell);
  return cells;
}

// What the profile and whoever lists it say about where it comes from.
void SetOrigin(const Profile& profile, const MineOptions& options, ProfileAggregate& aggregate) {
  aggregate.application = options.application;
  aggregate.group = options.group;
  aggregate.card_ms = options.card_ms;
  aggregate.model = options.model;
  aggregate.framework = options.framework;
  aggregate.ranks = options.ranks;
  aggregate.device = profile.device_name.empty() ? options.device : ValidUtf8(profile.device_name);
  if (profile.rank && *profile.rank >= 0) aggregate.rank = profile.rank;
  aggregate.shapes_recorded = profile.shapes_recorded;
  aggregate.stacks_recorded = profile.python_events > 0;
}

int64_t WindowNs(const Profile& profile) {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  for (const Launch kernel : profile.kernels) {
    first = std::min(first, kernel.start_ns);
    last = std::max(last, kernel.start_ns + kernel.dur_ns);
  }
  return profile.kernels.empty() ? 0 : last - first;
}

std::vector<UnknownKernel> Unknown(const ProfileAggregate& aggregate, const Profile& profile,
                                   const Attribution& attribution, const Exposure& exposure) {
  std::map<TextId, UnknownKernel> by_name;
  for (uint32_t row = 0; row < profile.kernels.size(); ++row) {
    if (!attribution.claims[attribution.claim_of[row]].op.empty()) continue;
    UnknownKernel& unknown = by_name[profile.kernels[row].name];
    unknown.exposed_ns += exposure.exposed_ns[row];
    ++unknown.launches;
  }
  std::vector<UnknownKernel> sorted;
  for (auto& [name, unknown] : by_name) {
    unknown.name = ValidUtf8(profile.text.Text(name));
    sorted.push_back(std::move(unknown));
  }
  std::ranges::stable_sort(sorted, std::greater<>(), &UnknownKernel::exposed_ns);
  CHECK(aggregate.launches == static_cast<int64_t>(profile.kernels.size()));
  return sorted;
}

Json TotalsToJson(const Totals& totals, const Profile& profile) {
  Json json = Json::MakeObject();
  json.Set("events", totals.events)
      .Set("records", profile.records())
      .Set("kernels", totals.kernels)
      .Set("names", totals.names);
  json.Set("sum_kernel_ns", totals.sum_kernel_ns).Set("union_ns", totals.union_ns);
  json.Set("devices", totals.devices).Set("memcpy", totals.memcpy);
  json.Set("memcpy_ns", totals.memcpy_ns).Set("python_events", totals.python_events);
  json.Set("kernels_no_runtime", totals.kernels_no_runtime);
  json.Set("graph_kernels", totals.graph_kernels).Set("graph_ns", totals.graph_ns);
  json.Set("kernels_extid_op", totals.kernels_extid_op);
  json.Set("kernels_extid_op_shaped", totals.kernels_extid_op_shaped);
  json.Set("shaped_ns", totals.shaped_ns);
  json.Set("kernels_extid_eq_corr", totals.kernels_extid_eq_corr);
  json.Set("user_annotations", totals.user_annotations).Set("neg_dur", totals.neg_dur);
  json.Set("corr_ids_with_many_kernels", totals.corr_ids_with_many_kernels);
  json.Set("base_ns", profile.base_ns ? Json(*profile.base_ns) : Json());
  return json;
}

Json LinksToJson(const LinkedProfile& linked) {
  std::map<LinkKind, int64_t> counts;
  for (size_t row = 0; row < linked.links.size(); ++row) ++counts[linked.links[row].kind];
  Json json = Json::MakeObject();
  json.Set("external_id", counts[LinkKind::kExternalId]);
  json.Set("containment", counts[LinkKind::kContainment]);
  json.Set("graph", counts[LinkKind::kGraph]);
  json.Set("graph_node", counts[LinkKind::kGraphNode]);
  json.Set("none", counts[LinkKind::kNone]);
  return json;
}

Json PairingToJson(const PairingReport& report) {
  Json json = Json::MakeObject();
  json.Set("replays", report.graphs).Set("exact", report.exact).Set("aligned", report.aligned);
  json.Set("unpaired", report.unpaired).Set("unpaired_kernels", report.unpaired_nodes);
  json.Set("unpaired_ns", report.unpaired_ns);
  return json;
}

Json LossToJson(const ReadLoss& loss, const std::vector<std::string>& captures_lost) {
  Json json = Json::MakeObject();
  json.Set("events", loss.split.damaged_events).Set("bytes", loss.split.damaged_bytes);
  json.Set("cut_events", loss.split.cut_events).Set("truncated", loss.truncated());
  json.Set("damage", loss.damage.empty() ? Json() : Json(loss.damage));
  json.Set("zero_dur", loss.zero_dur).Set("negative_dur", loss.negative_dur);
  json.Set("whole_graphs", loss.whole_graphs);
  Json captures = Json::MakeArray();
  for (const std::string& message : captures_lost) captures.Push(message);
  json.Set("captures", std::move(captures));
  return json;
}

Json FindingsToJson(const std::vector<Finding>& findings) {
  Json json = Json::MakeArray();
  for (const Finding& finding : findings) {
    json.Push(Json::MakeObject()
                  .Set("weight", WeightName(finding.weight))
                  .Set("id", finding.id)
                  .Set("what", finding.what)
                  .Set("way_out", finding.way_out));
  }
  return json;
}

// Exposed time by operator (largest first) and by phase, and what has a shape.
void AddTimes(const ProfileAggregate& aggregate, Json& json) {
  std::map<std::string, int64_t> by_operator;
  std::map<Phase, int64_t> by_phase;
  int64_t folded = 0;
  int64_t folded_ns = 0;
  int64_t shaped = 0;
  int64_t unattributed = 0;
  for (const AggregateCell& cell : aggregate.cells) {
    by_phase[cell.phase] += cell.exposed_ns;
    if (!cell.axes.empty()) shaped += cell.exposed_ns;
    if (cell.folded > 0) {
      folded += cell.folded;
      folded_ns += cell.exposed_ns;
    }
    if (cell.op.empty()) {
      unattributed += cell.exposed_ns;
    } else {
      by_operator[cell.op] += cell.exposed_ns;
    }
  }
  json.Set("unattributed_ns", unattributed).Set("with_shape_ns", shaped);
  json.Set("folded_shapes", folded).Set("folded_ns", folded_ns);
  std::vector<std::pair<std::string, int64_t>> sorted(by_operator.begin(), by_operator.end());
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [](const auto& entry) { return entry.second; });
  Json operators = Json::MakeObject();
  for (const auto& [op, time] : sorted) operators.Set(op, time);
  json.Set("operators_ns", std::move(operators));
  Json phases = Json::MakeObject();
  for (const Phase phase : {Phase::kPrefill, Phase::kDecode, Phase::kMixed, Phase::kUnknown}) {
    phases.Set(PhaseName(phase), by_phase[phase]);
  }
  json.Set("phases_ns", std::move(phases));
}

// Durations by where shapes are from, and "unknown".
Json ShapeTimesToJson(const ShapeTimes& times) {
  Json json = Json::MakeObject();
  for (size_t i = 1; i < times.size(); ++i) {
    if (times[i] > 0) json.Set(ShapeFromName(static_cast<ShapeFrom>(i)), times[i]);
  }
  return std::move(json.Set("unknown", times[0]));
}

// Gives the profile the sizes of its execution traces. Returns what each gave.
Json AddExecutionTraces(const fs::path& path, const MineOptions& options, Profile& profile,
                        TracedOps& traced, std::vector<std::string>& lost) {
  std::vector<fs::path> paths = options.execution_traces;
  if (const fs::path beside = FindExecutionTrace(path); !beside.empty()) paths.push_back(beside);
  Json given = Json::MakeArray();
  for (const fs::path& trace_path : paths) {
    const auto trace = ReadExecutionTrace(trace_path);
    if (!trace) {
      lost.push_back(trace.error().message());
      continue;
    }
    traced.names.push_back(trace_path.filename().string());
    const uint64_t by_id = AddArgumentsById(*trace, profile, &traced);
    NamesMatched by_names;
    if (by_id == 0 && !profile.shapes_recorded) {
      by_names = AddArgumentsByNames(*trace, profile, &traced);
    }
    if (by_id + by_names.given == 0 && !profile.shapes_recorded) {
      lost.push_back(
          fmt::format("{}: gives no operator its sizes: neither its numbers nor its sequences of "
                      "names are those of the profile; record both in one run",
                      trace_path.string()));
    }
    given.Push(Json::MakeObject()
                   .Set("by_id", by_id)
                   .Set("by_names", by_names.given)
                   .Set("disputed", by_names.disputed));
  }
  return given;
}

using Captures = std::vector<std::unique_ptr<CaptureProfile>>;

Captures ReadCaptures(const fs::path& path, const MineOptions& options,
                      std::vector<std::string>& lost) {
  std::vector<fs::path> paths = options.captures;
  for (const fs::path& found : FindCaptureProfiles(path)) {
    if (std::ranges::find(paths, found) == paths.end()) paths.push_back(found);
  }
  Captures captures;
  for (const fs::path& capture : paths) {
    auto read = ReadCaptureProfile(capture);
    if (read) {
      captures.push_back(std::move(*read));
    } else {
      lost.push_back(read.error().message());
    }
  }
  return captures;
}

// What only this needs is gone afterwards and makes room for what follows: indexes, the launches'
// identifiers, whose nodes they are.
std::pair<Totals, LinkedProfile> TotalsAndLinks(Profile& profile, const OpForest& forest) {
  std::pair<Totals, LinkedProfile> made;
  {
    const CallFinder calls(profile);
    const IdIndex ops = OpsByExternalId(profile);
    made.first = ComputeTotals(profile, calls, ops);
    made.second = LinkKernels(profile, calls, forest, ops, made.first);
  }
  profile.kernels.DropIds();
  profile.node_of = {};
  return made;
}

void SetCounts(const Profile& profile, const Totals& totals, const Exposure& exposure,
               ProfileAggregate& aggregate) {
  aggregate.devices = static_cast<int64_t>(exposure.devices);
  aggregate.window_ns = WindowNs(profile);
  aggregate.busy_ns = exposure.union_ns;
  aggregate.sum_ns = totals.sum_kernel_ns;
  aggregate.launches = static_cast<int64_t>(totals.kernels);
  aggregate.events = static_cast<int64_t>(totals.events);
  aggregate.lost_events = static_cast<int64_t>(profile.loss.split.damaged_events);
  aggregate.truncated = profile.loss.truncated();
}

}  // namespace

Result<ProfileSummary> MineProfile(const fs::path& path, const Rules& rules,
                                   const MineOptions& options) {
  const auto asks = [&](std::string_view op) {
    const OpRule* rule = rules.FindOp(op);
    return rule != nullptr && rule->AsksForArguments();
  };
  Profile profile = TRY(ReadProfile(path, {.wants_arguments = asks}));
  std::vector<std::string> captures_lost;
  TracedOps traced;
  const Json traces = AddExecutionTraces(path, options, profile, traced, captures_lost);
  profile.record_ids = {};
  const OpForest forest(profile);
  auto [totals, linked] = TotalsAndLinks(profile, forest);
  Captures captures;
  // Only graphs need captures, and captures are large.
  if (totals.graph_kernels > 0) captures = ReadCaptures(path, options, captures_lost);
  const AttributionOptions asked{.file_phase = PhaseOfFileName(path.filename().string()),
                                 .facts = options.facts,
                                 .explain = options.explain,
                                 .traced = &traced};
  Attribution attribution = Attribute(profile, linked, forest, captures, rules, asked);
  const Exposure exposure = ComputeExposure(profile.kernels);
  AddExposure(exposure, totals);

  ProfileSummary summary;
  summary.role = IsCaptureProfilePath(path) ? ProfileRole::kCapture : ProfileRole::kProduction;
  ProfileAggregate& aggregate = summary.aggregate;
  aggregate.hash = ContentHash(profile);
  SetOrigin(profile, options, aggregate);
  SetCounts(profile, totals, exposure, aggregate);
  aggregate.cells = MakeCells(profile, attribution, exposure);
  Normalise(aggregate);
  FoldShapes(aggregate, options.most_shapes);
  const auto exposed_where = [&](const auto& is) {
    int64_t sum = 0;
    for (const AggregateCell& cell : aggregate.cells) sum += is(cell) ? cell.exposed_ns : 0;
    return sum;
  };
  // Every nanosecond lands in a cell.
  CHECK(exposed_where([](const AggregateCell&) { return true; }) == aggregate.busy_ns);
  summary.unknown = Unknown(aggregate, profile, attribution, exposure);
  summary.findings = CheckForMining(
      profile, totals, linked, attribution,
      exposed_where([](const AggregateCell& cell) { return cell.op.empty(); }),
      exposed_where([](const AggregateCell& cell) { return cell.phase == Phase::kUnknown; }));
  summary.explanations = std::move(attribution.explanations);

  Json& json = summary.json = Json::MakeObject();
  json.Set("profile", path.string()).Set("kind", FormatName(profile.format));
  json.Set("role", summary.role == ProfileRole::kCapture ? "capture" : "production");
  json.Set("sha256", aggregate.hash);
  const Json totals_json = TotalsToJson(totals, profile);
  for (const auto& [key, value] : totals_json.object()) json.Set(key, value);
  AddTimes(aggregate, json);
  json.Set("shapes_from_ns", ShapeTimesToJson(attribution.shape_times));
  json.Set("links", LinksToJson(linked)).Set("graphs", PairingToJson(attribution.pairing));
  if (!traces.array().empty()) json.Set("execution_traces", traces);
  json.Set("loss", LossToJson(profile.loss, captures_lost));
  json.Set("findings", FindingsToJson(summary.findings));
  return summary;
}

const Json& SummaryToJson(const ProfileSummary& summary) {
  return summary.json;
}

}  // namespace roofmark::trace
