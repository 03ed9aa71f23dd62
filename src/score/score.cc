// SPDX-License-Identifier: Apache-2.0
#include "score/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "base/check.h"
#include "model/names.h"
#include "roofline/device_file.h"
#include "score/bootstrap.h"

namespace roofmark::score {
namespace {

constexpr std::array<std::string_view, 2> kKinds = {"published", "roofmark"};
constexpr double kConfidence = 0.95;
constexpr double kNoBound = std::numeric_limits<double>::max();

// One workload of a contestant's scope with everything that rows need of it. Draw -1 is the point
// estimate.
struct Entry {
  const Workload* workload = nullptr;
  const Verdict* verdict = nullptr;  // nullptr: not judged
  bool scored = false;
  double sol_ns = 0;
  double time_ns = 0;              // where scored or passed
  std::vector<double> time_draws;  // empty where there is no time
  std::vector<double> weight_draws;
  double deployed_ns = 0;
  std::string note;

  double Time(int64_t draw) const {
    return draw < 0 ? time_ns : time_draws[static_cast<size_t>(draw)];
  }
  double Weight(int64_t draw) const {
    return draw < 0 ? workload->weight.value : weight_draws[static_cast<size_t>(draw)];
  }
  double Attainment(int64_t draw) const { return std::min(1.0, sol_ns / Time(draw)); }
};

using Entries = std::vector<const Entry*>;

bool IsJudged(const Entry& entry) {
  return entry.verdict != nullptr && entry.verdict->outcome != Outcome::kUnsupported &&
         entry.verdict->outcome != Outcome::kNotRun;
}

bool PassedPerformance(const Verdict& verdict) {
  return verdict.passed() && verdict.gate == Gate::kPerformance;
}

double DeployedNs(const Workload& workload, const DeviceCard& card) {
  if (const double mined = MinedDeployedNs(workload, card); mined > 0) return mined;
  const auto& released = workload.shape.published.production_us;
  const auto found = released.find(card.name);
  return found == released.end() ? 0 : found->second * 1000;
}

Result<double> SolNs(const Workload& workload, const DeviceCard& card,
                     const ScoreOptions& options) {
  const roofline::SolTime sol =
      options.kind == ScoreKind::kPublished
          ? TRY(roofline::ComputePublishedSol(workload, card))
          : roofline::ComputeSol(workload, card, options.against, roofline::LaunchFloor::kWith);
  if (sol.sol_ns <= 0) {
    return Fail(ErrorKind::kInput, fmt::format("{} has no SOL time on {}: {}", workload.Id(),
                                               card.name, fmt::join(sol.notes, "; ")));
  }
  return sol.sol_ns;
}

// Decides whether the entry has an attainment in the score, and draws its times.
Result<void> Measure(const DeviceCard& card, const ScoreOptions& options, uint64_t seed,
                     Entry* entry) {
  const ::roofmark::Weight& weight = entry->workload->weight;
  entry->weight_draws =
      ResampledWeights(weight.value, weight.low, weight.high, options.draws, seed ^ 1);
  entry->deployed_ns = DeployedNs(*entry->workload, card);
  if (entry->verdict == nullptr) return {};
  const Verdict& verdict = *entry->verdict;
  const bool correct = PassedPerformance(verdict) ||
                       (options.kind == ScoreKind::kPublished &&
                        verdict.outcome == Outcome::kFallback && verdict.time_ns.has_value());
  if (!correct) return {};
  if (verdict.samples_ns.empty()) {
    return Fail(ErrorKind::kInput,
                fmt::format("the verdict of {} on {} has no raw samples, and a score never rests "
                            "on a point estimate; judge it again",
                            verdict.candidate, entry->workload->Id()));
  }
  entry->time_ns = Median(verdict.samples_ns);
  entry->time_draws = ResampledMedians(verdict.samples_ns, options.draws, seed);
  entry->sol_ns = TRY(SolNs(*entry->workload, card, options));
  const double s = entry->sol_ns / entry->time_ns;
  entry->scored = s <= 1 || options.kind == ScoreKind::kRoofmark;
  if (s > 1) {
    entry->note = fmt::format("{}: S = {:.3f} is over 1 and {}", entry->workload->Id(), s,
                              entry->scored ? "capped" : "left out");
  }
  return {};
}

double MedianAttainment(const Entries& entries, int64_t draw) {
  std::vector<double> values;
  for (const Entry* entry : entries) {
    if (entry->scored) values.push_back(entry->Attainment(draw));
  }
  return values.empty() ? 0 : Median(values);
}

// The weight of an operator in the published score. An operator of the user's own has no published
// weight and keeps that of its workloads.
double OperatorWeight(const Entries& entries) {
  const Operator& op = *entries.front()->workload->op;
  if (op.weight_published > 0) return op.weight_published;
  double sum = 0;
  for (const Entry* entry : entries) sum += entry->workload->weight.value;
  return sum;
}

double WeightedAttainment(const Entries& entries, int64_t draw) {
  double sum = 0;
  double weights = 0;
  for (const Entry* entry : entries) {
    const double weight = entry->Weight(draw);
    weights += weight;
    if (entry->scored) sum += weight * entry->Attainment(draw);
  }
  return weights > 0 ? sum / weights : 0;
}

std::map<std::string, Entries> ByOperator(const Entries& entries) {
  std::map<std::string, Entries> groups;
  for (const Entry* entry : entries) groups[entry->workload->op->name].push_back(entry);
  return groups;
}

double PublishedScore(const Entries& entries, int64_t draw) {
  double sum = 0;
  double weights = 0;
  for (const auto& [name, group] : ByOperator(entries)) {
    const double weight = OperatorWeight(group);
    weights += weight;
    sum += weight * MedianAttainment(group, draw);
  }
  return weights > 0 ? sum / weights : 0;
}

PassRates Rates(const Entries& entries) {
  PassRates rates;
  double judged = 0;
  for (const Entry* entry : entries) {
    if (!IsJudged(*entry)) continue;
    const Verdict& verdict = *entry->verdict;
    ++judged;
    if (verdict.gate != Gate::kCompile || verdict.passed()) ++rates.compile;
    if (verdict.gate == Gate::kPerformance ||
        (verdict.gate == Gate::kCorrectness && verdict.passed())) {
      ++rates.correctness;
    }
    if (PassedPerformance(verdict)) ++rates.performance;
  }
  if (judged == 0) return {};
  return {.compile = rates.compile / judged,
          .correctness = rates.correctness / judged,
          .performance = rates.performance / judged};
}

std::optional<double> MeanAdoption(const Entries& entries) {
  double sum = 0;
  double weights = 0;
  double plain = 0;
  int64_t count = 0;
  for (const Entry* entry : entries) {
    if (entry->verdict == nullptr || !entry->verdict->shares) continue;
    const double adoption =
        entry->verdict->role == Role::kBaseline ? 0 : Adoption(*entry->verdict->shares);
    sum += entry->workload->weight.value * adoption;
    weights += entry->workload->weight.value;
    plain += adoption;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return weights > 0 ? sum / weights : plain / static_cast<double>(count);
}

// What drawing the suite's tail adds to the error of a mean of `value` over the entries.
template <typename ValueOf>
SamplingError DrawingError(const Entries& entries, const ScoreOptions& options, ValueOf value) {
  if (options.drawn == nullptr || options.drawn->empty()) return {};
  std::vector<MeanTerm> terms;
  for (const Entry* entry : entries) {
    const double weight = entry->workload->weight.value;
    if (weight > 0) terms.push_back({entry->workload, weight, value(*entry)});
  }
  return SamplingErrorOf(terms, *options.drawn);
}

void AddFleetTime(const Entries& entries, const ScoreOptions& options, ScoreRow* row) {
  double known = 0;
  double all = 0;
  Entries with_time;
  for (const Entry* entry : entries) {
    all += entry->workload->weight.value;
    if (entry->deployed_ns <= 0) continue;
    known += entry->workload->weight.value;
    with_time.push_back(entry);
  }
  if (known <= 0) return;
  row->fleet_coverage = known / all;
  const auto ratio = [](const Entry& entry, int64_t draw) {
    const bool replaced = entry.verdict != nullptr && PassedPerformance(*entry.verdict);
    return replaced ? entry.Time(draw) / entry.deployed_ns : 1;
  };
  const Interval timing = IntervalOf(
      [&](int64_t draw) {
        double sum = 0;
        double weights = 0;
        for (const Entry* entry : with_time) {
          const double weight = entry->Weight(draw);
          sum += weight * ratio(*entry, draw);
          weights += weight;
        }
        return weights > 0 ? sum / weights : 1;
      },
      options.draws, kConfidence);
  const SamplingError drawing =
      DrawingError(with_time, options, [&](const Entry& entry) { return ratio(entry, -1); });
  row->fleet_time = Widened(timing, drawing, 0, kNoBound);
}

ScoreRow MakeRow(const Entries& entries, const ScoreOptions& options) {
  ScoreRow row{.op = "all", .kind = options.kind};
  row.workloads = static_cast<int64_t>(entries.size());
  const bool published = options.kind == ScoreKind::kPublished;
  for (const Entry* entry : entries) {
    if (IsJudged(*entry)) ++row.judged;
    if (entry->scored) ++row.scored;
    if (!published) row.weight += entry->workload->weight.value;
    if (!entry->note.empty()) row.notes.push_back(entry->note);
  }
  if (published) {
    for (const auto& [name, group] : ByOperator(entries)) row.weight += OperatorWeight(group);
  }
  row.s = IntervalOf(
      [&](int64_t draw) {
        return published ? PublishedScore(entries, draw) : WeightedAttainment(entries, draw);
      },
      options.draws, kConfidence);
  if (!published) {
    row.sampling = DrawingError(entries, options, [](const Entry& entry) {
      return entry.scored ? entry.Attainment(-1) : 0;
    });
    row.s = Widened(row.s, row.sampling, 0, 1);
  }
  row.adoption = MeanAdoption(entries);
  row.pass = Rates(entries);
  AddFleetTime(entries, options, &row);
  return row;
}

std::map<Phase, Entries> ByPhase(const Entries& entries) {
  std::map<Phase, Entries> phases;
  for (const Entry* entry : entries) phases[entry->workload->shape.phase].push_back(entry);
  return phases;
}

std::optional<std::pair<double, double>> PhaseExtremes(const Entries& all) {
  double low = 0;
  double high = 0;
  double weights = 0;
  bool assumed = false;
  for (const auto& [name, group] : ByOperator(all)) {
    double weight = 0;
    for (const Entry* entry : group) weight += entry->Weight(-1);
    weights += weight;
    const double as_split = WeightedAttainment(group, -1);
    double least = as_split;
    double most = as_split;
    const std::map<Phase, Entries> phases = ByPhase(group);
    const bool is_assumed = phases.size() > 1 && std::ranges::any_of(group, [](const Entry* entry) {
                              return entry->workload->weight.label == WeightLabel::kAssumed;
                            });
    if (is_assumed) {
      assumed = true;
      for (const auto& [phase, part] : phases) {
        double of_phase = 0;
        for (const Entry* entry : part) of_phase += entry->Weight(-1);
        if (of_phase <= 0) continue;  // nobody assumes anything of it
        least = std::min(least, WeightedAttainment(part, -1));
        most = std::max(most, WeightedAttainment(part, -1));
      }
    }
    low += weight * least;
    high += weight * most;
  }
  if (!assumed || weights <= 0) return std::nullopt;
  return std::pair(low / weights, high / weights);
}

// A row over the entries and, for the roofmark score, one for each phase among several.
void AddRows(const std::string& op, const Entries& entries, const ScoreOptions& options,
             std::vector<ScoreRow>* rows) {
  rows->push_back(MakeRow(entries, options));
  rows->back().op = op;
  if (options.kind == ScoreKind::kPublished) return;
  if (op == "all") rows->back().phase_extremes = PhaseExtremes(entries);
  const std::map<Phase, Entries> phases = ByPhase(entries);
  if (phases.size() < 2) return;
  for (const auto& [phase, group] : phases) {
    rows->push_back(MakeRow(group, options));
    rows->back().op = op;
    rows->back().phase = phase;
  }
}

struct Contestant {
  const Verdict* first = nullptr;                  // for name, lane, role and device
  std::map<std::string, const Verdict*> verdicts;  // by workload id
};

Result<std::vector<Contestant>> GroupVerdicts(std::span<const Workload> workloads,
                                              std::span<const Verdict> verdicts) {
  std::set<std::string> ids;
  for (const Workload& workload : workloads) ids.insert(workload.Id());
  std::vector<Contestant> contestants;
  for (const Verdict& verdict : verdicts) {
    const std::string id = verdict.operator_name + "/" + verdict.shape;
    if (!ids.contains(id)) continue;
    auto found = std::ranges::find_if(contestants, [&](const Contestant& contestant) {
      return contestant.first->candidate == verdict.candidate &&
             contestant.first->lane == verdict.lane && contestant.first->role == verdict.role;
    });
    if (found == contestants.end()) {
      found = contestants.insert(contestants.end(), Contestant{.first = &verdict});
    }
    if (verdict.device != contestants.front().first->device) {
      return Fail(ErrorKind::kInput,
                  fmt::format("there are verdicts of {} and of {}; score one device at a time",
                              contestants.front().first->device, verdict.device));
    }
    if (!found->verdicts.emplace(id, &verdict).second) {
      return Fail(ErrorKind::kInput,
                  fmt::format("candidate {} has two verdicts on {}; score the latest of each",
                              verdict.candidate, id));
    }
  }
  return contestants;
}

using OperatorTier = std::pair<std::string, Tier>;

OperatorTier TierOf(const Workload& workload) {
  return {workload.op->name, workload.shape.tier};
}

std::vector<const Workload*> WorkloadsInScope(std::span<const Workload> workloads,
                                              const Contestant& contestant,
                                              const ScoreOptions& options) {
  std::set<OperatorTier> attempted;
  for (const Workload& workload : workloads) {
    if (contestant.verdicts.contains(workload.Id())) attempted.insert(TierOf(workload));
  }
  const auto in_scope = [&](const Workload& workload) {
    switch (options.scope) {
      case Scope::kSuite:
        return true;
      case Scope::kAttempted:
        return attempted.contains(TierOf(workload));
      case Scope::kJudged:
        return contestant.verdicts.contains(workload.Id());
    }
    CheckFailed(__FILE__, __LINE__, "scope is in the enumeration");
  };
  std::vector<const Workload*> scope;
  std::set<std::string> with_published_shapes;
  for (const Workload& workload : workloads) {
    if (!in_scope(workload)) continue;
    scope.push_back(&workload);
    if (workload.shape.tier == Tier::kPublished) with_published_shapes.insert(workload.op->name);
  }
  if (options.kind == ScoreKind::kPublished) {
    std::erase_if(scope, [&](const Workload* workload) {
      return workload->shape.tier != Tier::kPublished &&
             with_published_shapes.contains(workload->op->name);
    });
  }
  return scope;
}

Result<std::vector<ScoreRow>> ScoreContestant(std::span<const Workload> workloads,
                                              const Contestant& contestant, const DeviceCard& card,
                                              const ScoreOptions& options) {
  std::vector<Entry> storage;
  double weight = 0;
  for (const Workload* workload : WorkloadsInScope(workloads, contestant, options)) {
    const auto found = contestant.verdicts.find(workload->Id());
    Entry entry{.workload = workload,
                .verdict = found == contestant.verdicts.end() ? nullptr : found->second};
    TRY(Measure(card, options, options.seed + 0x9e3779b97f4a7c15u * (storage.size() + 1), &entry));
    weight += workload->weight.value;
    storage.push_back(std::move(entry));
  }
  if (weight <= 0) {
    return Fail(ErrorKind::kInput,
                fmt::format("the workloads of {} have no weight; choose a suite or tier that has",
                            contestant.first->candidate));
  }
  Entries all;
  for (const Entry& entry : storage) all.push_back(&entry);
  std::vector<ScoreRow> rows;
  for (const auto& [name, entries] : ByOperator(all)) AddRows(name, entries, options, &rows);
  AddRows("all", all, options, &rows);
  for (ScoreRow& row : rows) {
    row.candidate = contestant.first->candidate;
    row.lane = contestant.first->lane;
    row.role = contestant.first->role;
    row.device = contestant.first->device;
  }
  return rows;
}

}  // namespace

std::string_view ScoreKindName(ScoreKind kind) {
  return kKinds[static_cast<size_t>(kind)];
}
Result<ScoreKind> ParseScoreKind(std::string_view name) {
  return ParseName<ScoreKind>(name, kKinds, "score");
}

double MinedDeployedNs(const Workload& workload, const DeviceCard& card) {
  const std::map<std::string, double>& times = workload.deployed_by_device;
  if (times.empty()) return workload.deployed_ns;
  for (const auto& [device, ns] : times) {
    if (!device.empty() && roofline::IsCalled(card, device)) return ns;
  }
  const auto unnamed = times.find("");
  return unnamed == times.end() ? 0 : unnamed->second;
}

Result<std::vector<ScoreRow>> ComputeScores(std::span<const Workload> workloads,
                                            std::span<const Verdict> verdicts,
                                            const DeviceCard& card, const ScoreOptions& options) {
  std::vector<ScoreRow> rows;
  for (const Contestant& contestant : TRY(GroupVerdicts(workloads, verdicts))) {
    for (ScoreRow& row : TRY(ScoreContestant(workloads, contestant, card, options))) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace roofmark::score
