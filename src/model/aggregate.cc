// SPDX-License-Identifier: Apache-2.0
// Integers only: the first division happens where weights are made (suite/from_aggregate.h).
#include "model/aggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace roofmark {
namespace {

constexpr std::string_view kFormat = "roofmark-aggregate/2";
constexpr std::string_view kOldFormat = "roofmark-aggregate/1";

auto KeyOf(const AggregateCell& cell) {
  return std::tuple_cat(std::tie(cell.op, cell.phase, cell.axes, cell.dtypes),
                        std::tuple(cell.folded > 0));
}

Json CellToJson(const AggregateCell& cell, const std::vector<std::string>& names) {
  Json json = Json::MakeObject();
  json.Set("operator", cell.op.empty() ? Json() : Json(cell.op));
  json.Set("phase", PhaseName(cell.phase));
  json.Set("axes", AxesToJson(cell.axes));
  Json dtypes = Json::MakeObject();
  for (const auto& [tensor, dtype] : cell.dtypes) dtypes.Set(tensor, dtype);
  json.Set("dtypes", std::move(dtypes));
  if (cell.folded > 0) json.Set("folded", cell.folded);
  json.Set("calls", cell.calls).Set("launches", cell.launches);
  json.Set("sum_ns", cell.sum_ns).Set("exposed_ns", cell.exposed_ns);
  if (cell.elsewhere_ns > 0 || cell.elsewhere_calls > 0) {
    json.Set("elsewhere_ns", cell.elsewhere_ns).Set("elsewhere_calls", cell.elsewhere_calls);
  }
  Json kernels = Json::MakeArray();
  for (const auto& [name, use] : cell.kernels) {
    const auto at = std::ranges::lower_bound(names, name) - names.begin();
    kernels.Push(Json::Array{static_cast<int64_t>(at), use.launches, use.sum_ns});
  }
  json.Set("kernels", std::move(kernels));
  if (cell.durations.count() > 0) json.Set("durations", cell.durations.ToJson());
  if (!cell.measures.empty()) {
    Json measures = Json::MakeObject();
    for (const auto& [name, spread] : cell.measures) measures.Set(name, spread.ToJson());
    json.Set("measures", std::move(measures));
  }
  return json;
}

Json ProfileToJson(const ProfileAggregate& profile) {
  Json json = Json::MakeObject();
  json.Set("hash", profile.hash).Set("application", profile.application);
  json.Set("group", profile.group);
  json.Set("card_ms", profile.card_ms ? Json(*profile.card_ms) : Json());
  json.Set("model", profile.model).Set("framework", profile.framework);
  json.Set("ranks", profile.ranks).Set("device", profile.device);
  json.Set("rank", profile.rank ? Json(*profile.rank) : Json()).Set("devices", profile.devices);
  json.Set("shapes_recorded", profile.shapes_recorded);
  json.Set("stacks_recorded", profile.stacks_recorded).Set("window_ns", profile.window_ns);
  json.Set("busy_ns", profile.busy_ns).Set("sum_ns", profile.sum_ns);
  json.Set("launches", profile.launches).Set("events", profile.events);
  json.Set("lost_events", profile.lost_events);
  json.Set("truncated", profile.truncated);
  std::set<std::string> distinct;
  for (const AggregateCell& cell : profile.cells) {
    for (const auto& [name, use] : cell.kernels) distinct.insert(name);
  }
  const std::vector<std::string> names(distinct.begin(), distinct.end());
  Json kernel_names = Json::MakeArray();
  for (const std::string& name : names) kernel_names.Push(name);
  json.Set("kernel_names", std::move(kernel_names));
  Json cells = Json::MakeArray();
  for (const AggregateCell& cell : profile.cells) cells.Push(CellToJson(cell, names));
  json.Set("cells", std::move(cells));
  return json;
}

Result<int64_t> Count(const Json& json, std::string_view key) {
  const int64_t value = TRY(json.Int(key));
  if (value < 0) return Fail(ErrorKind::kInput, fmt::format("{} is negative ({})", key, value));
  return value;
}

Result<void> ReadKernels(const Json& json, const Json::Array& names, AggregateCell& cell) {
  for (const Json& use : TRY(json.ArrayAt("kernels"))->array()) {
    const bool triple = use.is_array() && use.array().size() == 3 &&
                        std::ranges::all_of(use.array(), [](const Json& number) {
                          return number.is_int() && number.as_int() >= 0;
                        });
    if (!triple) {
      return Fail(ErrorKind::kInput, "a kernel must be [index of name, launches, sum_ns]");
    }
    const auto index = static_cast<size_t>(use.array()[0].as_int());
    if (index >= names.size() || !names[index].is_string()) {
      return Fail(ErrorKind::kInput, fmt::format("kernel_names has no text {}", index));
    }
    cell.kernels[names[index].as_string()] = {use.array()[1].as_int(), use.array()[2].as_int()};
  }
  return {};
}

Result<AggregateCell> CellFromJson(const Json& json, const Json::Array& names) {
  AggregateCell cell;
  const Json* op = json.Find("operator");
  if (op == nullptr || !op->is_null()) cell.op = TRY(json.String("operator"));
  cell.phase = TRY(ParsePhase(TRY(json.String("phase"))));
  cell.axes = TRY(AxesFromJson(*TRY(json.ObjectAt("axes"))));
  for (const auto& [tensor, dtype] : TRY(json.ObjectAt("dtypes"))->object()) {
    if (!dtype.is_string()) return Fail(ErrorKind::kInput, "dtypes must be texts");
    cell.dtypes[tensor] = dtype.as_string();
  }
  if (json.Find("folded") != nullptr) cell.folded = TRY(Count(json, "folded"));
  if (cell.folded > 0 && !cell.axes.empty()) {
    return Fail(ErrorKind::kInput, "a cell of folded shapes has no axes");
  }
  cell.calls = TRY(Count(json, "calls"));
  cell.launches = TRY(Count(json, "launches"));
  cell.sum_ns = TRY(Count(json, "sum_ns"));
  cell.exposed_ns = TRY(Count(json, "exposed_ns"));
  if (json.Find("elsewhere_ns") != nullptr) {
    cell.elsewhere_ns = TRY(Count(json, "elsewhere_ns"));
    cell.elsewhere_calls = TRY(Count(json, "elsewhere_calls"));
  }
  TRY(ReadKernels(json, names, cell));
  if (const Json* durations = json.Find("durations")) {
    cell.durations = TRY_IN(Spread::FromJson(*durations), "durations");
  }
  if (json.Find("measures") != nullptr) {
    for (const auto& [name, spread] : TRY(json.ObjectAt("measures"))->object()) {
      cell.measures[name] = TRY_IN(Spread::FromJson(spread), name);
    }
  }
  return cell;
}

Result<void> CheckSums(const ProfileAggregate& profile) {
  int64_t exposed = 0;
  int64_t sum = 0;
  int64_t launches = 0;
  for (const AggregateCell& cell : profile.cells) {
    AddCount(exposed, cell.exposed_ns);
    AddCount(sum, cell.sum_ns);
    AddCount(launches, cell.launches);
  }
  if (exposed == profile.busy_ns && sum == profile.sum_ns && launches == profile.launches) {
    return {};
  }
  return Fail(
      ErrorKind::kInput,
      fmt::format("the cells add up to {} ns exposed, {} ns and {} launches, the profile "
                  "says {}, {} and {}",
                  exposed, sum, launches, profile.busy_ns, profile.sum_ns, profile.launches));
}

// What version 1 did not have.
Result<void> ReadOrigin(const Json& json, ProfileAggregate& profile) {
  profile.group = TRY(json.String("group"));
  profile.model = TRY(json.String("model"));
  profile.framework = TRY(json.String("framework"));
  profile.ranks = TRY(Count(json, "ranks"));
  profile.devices = TRY(Count(json, "devices"));
  const Json* rank = json.Find("rank");
  if (rank != nullptr && !rank->is_null()) profile.rank = TRY(Count(json, "rank"));
  profile.shapes_recorded = TRY(json.Bool("shapes_recorded"));
  profile.stacks_recorded = TRY(json.Bool("stacks_recorded"));
  return {};
}

Result<ProfileAggregate> ProfileFromJson(const Json& json, bool old) {
  ProfileAggregate profile;
  if (!old) TRY(ReadOrigin(json, profile));
  profile.hash = TRY(json.String("hash"));
  profile.application = TRY(json.String("application"));
  const Json* card = json.Find("card_ms");
  if (card != nullptr && !card->is_null()) profile.card_ms = TRY(Count(json, "card_ms"));
  profile.device = TRY(json.String("device"));
  profile.window_ns = TRY(Count(json, "window_ns"));
  profile.busy_ns = TRY(Count(json, "busy_ns"));
  profile.sum_ns = TRY(Count(json, "sum_ns"));
  profile.launches = TRY(Count(json, "launches"));
  profile.events = TRY(Count(json, "events"));
  profile.lost_events = TRY(Count(json, "lost_events"));
  profile.truncated = TRY(json.Bool("truncated"));
  const Json::Array& names = TRY(json.ArrayAt("kernel_names"))->array();
  size_t number = 0;
  for (const Json& cell : TRY(json.ArrayAt("cells"))->array()) {
    profile.cells.push_back(TRY_IN(CellFromJson(cell, names), fmt::format("cell {}", ++number)));
  }
  Normalise(profile);
  TRY(CheckSums(profile));
  return profile;
}

// Of two accounts of one profile the lower rank stays.
auto Rank(const ProfileAggregate& profile) {
  int64_t folded = 0;
  for (const AggregateCell& cell : profile.cells) AddCount(folded, cell.folded);
  return std::tuple(!profile.card_ms, profile.application.empty(), folded,
                    ProfileToJson(profile).Dump());
}

}  // namespace

void Normalise(ProfileAggregate& profile) {
  std::ranges::sort(profile.cells,
                    [](const auto& a, const auto& b) { return KeyOf(a) < KeyOf(b); });
  std::vector<AggregateCell> cells;
  for (AggregateCell& cell : profile.cells) {
    if (cells.empty() || KeyOf(cells.back()) != KeyOf(cell)) {
      cells.push_back(std::move(cell));
      continue;
    }
    AggregateCell& into = cells.back();
    AddCounts(cell, into);
  }
  profile.cells = std::move(cells);
}

void MeasureLengths(AggregateCell& cell) {
  const std::vector<int64_t>* first = nullptr;
  std::string first_name;
  for (const auto& [axis, value] : cell.axes) {
    const auto* list = std::get_if<std::vector<int64_t>>(&value);
    if (list == nullptr) continue;
    for (const int64_t length : *list) cell.measures[axis].Add(length, cell.calls);
    if (first == nullptr || first->size() != list->size()) {
      first = list;
      first_name = axis;
      continue;
    }
    int64_t products = 0;
    for (size_t i = 0; i < list->size(); ++i) {
      int64_t product = 0;
      if (__builtin_mul_overflow((*first)[i], (*list)[i], &product)) product = INT64_MAX;
      AddCount(products, product);
    }
    cell.measures[first_name + "*" + axis].Add(products, cell.calls);
  }
}

void AddCounts(const AggregateCell& cell, AggregateCell& into) {
  AddCount(into.folded, cell.folded);
  AddCount(into.calls, cell.calls);
  AddCount(into.launches, cell.launches);
  AddCount(into.sum_ns, cell.sum_ns);
  AddCount(into.exposed_ns, cell.exposed_ns);
  AddCount(into.elsewhere_ns, cell.elsewhere_ns);
  AddCount(into.elsewhere_calls, cell.elsewhere_calls);
  for (const auto& [name, use] : cell.kernels) {
    AddCount(into.kernels[name].launches, use.launches);
    AddCount(into.kernels[name].sum_ns, use.sum_ns);
  }
  into.durations.Merge(cell.durations);
  for (const auto& [name, spread] : cell.measures) into.measures[name].Merge(spread);
}

void Aggregate::Add(ProfileAggregate profile) {
  Normalise(profile);
  const auto found = profiles_.find(profile.hash);
  if (found == profiles_.end()) {
    profiles_.emplace(profile.hash, std::move(profile));
  } else if (found->second != profile && Rank(profile) < Rank(found->second)) {
    found->second = std::move(profile);
  }
}

void Aggregate::Merge(const Aggregate& other) {
  for (const auto& [hash, profile] : other.profiles_) Add(profile);
}

Json Aggregate::ToJson() const {
  Json json = Json::MakeObject();
  json.Set("format", kFormat);
  Json profiles = Json::MakeArray();
  for (const auto& [hash, profile] : profiles_) profiles.Push(ProfileToJson(profile));
  json.Set("profiles", std::move(profiles));
  return json;
}

Result<Aggregate> Aggregate::FromJson(const Json& json) {
  const std::string format = TRY(json.String("format"));
  if (format != kFormat && format != kOldFormat) {
    return Fail(ErrorKind::kInput,
                fmt::format("format '{}' is not {}, which `mine -o` writes", format, kFormat));
  }
  Aggregate aggregate;
  size_t number = 0;
  for (const Json& profile : TRY(json.ArrayAt("profiles"))->array()) {
    aggregate.Add(TRY_IN(ProfileFromJson(profile, format == kOldFormat),
                         fmt::format("profile {}", ++number)));
  }
  return aggregate;
}

}  // namespace roofmark
