// SPDX-License-Identifier: Apache-2.0
#include "suite/select_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/hash.h"

namespace roofmark::suite {
namespace {

constexpr double kStratumFloor = 0.001;  // of the fleet
constexpr size_t kLeast = 2;             // shapes of each operator and phase

using Indices = std::vector<size_t>;

std::string OpPhase(const MinedWorkload& workload) {
  return fmt::format("{}/{}", workload.op->name, PhaseName(workload.shown->sums.phase));
}

int64_t Load(const MinedWorkload& workload) {
  return LoadOf(workload.shown->sums, *workload.op);
}

double ShareOf(std::span<const MinedWorkload> workloads, const Indices& indices) {
  double share = 0;
  for (const size_t index : indices) share += workloads[index].share.value;
  return share;
}

// Largest share first: first the guards (two of each operator and phase), then those up to the
// coverage.
Indices CertaintyOrder(std::span<const MinedWorkload> workloads, double coverage) {
  std::map<std::string, double> total;
  for (const MinedWorkload& workload : workloads) total[OpPhase(workload)] += workload.share.value;
  std::map<std::string, double> taken;
  std::map<std::string, size_t> count;
  Indices guards;
  Indices further;
  for (size_t index = 0; index < workloads.size(); ++index) {
    const std::string key = OpPhase(workloads[index]);
    const bool guard = count[key] < kLeast;
    // Shares that add up to the wanted coverage may miss it by rounding.
    if (!guard && taken[key] >= coverage * total[key] * (1 - 1e-12)) continue;
    (guard ? guards : further).push_back(index);
    ++count[key];
    taken[key] += workloads[index].share.value;
  }
  guards.insert(guards.end(), further.begin(), further.end());
  return guards;
}

std::string StratumOf(const MinedWorkload& workload) {
  const auto load = static_cast<uint64_t>(std::max<int64_t>(Load(workload), 1));
  const int power = 63 - std::countl_zero(load);
  return fmt::format("{}/2^{}{}{}", OpPhase(workload), power,
                     workload.cost.bound_by.empty() ? "" : "/", workload.cost.bound_by);
}

struct Stratum : StratumPlan {
  std::string op_phase;
  Indices in;  // the members
};

// Strata with at least one draw each; the last may be "rest".
std::vector<Stratum> MakeStrata(std::span<const MinedWorkload> workloads, const Indices& tail,
                                size_t draws) {
  std::map<std::string, Stratum> by_name;
  for (const size_t index : tail) {
    const std::string name = StratumOf(workloads[index]);
    by_name[name].name = name;
    by_name[name].op_phase = OpPhase(workloads[index]);
    by_name[name].in.push_back(index);
  }
  std::vector<Stratum> strata;
  for (auto& [name, stratum] : by_name) {
    stratum.share = ShareOf(workloads, stratum.in);
    strata.push_back(std::move(stratum));
  }
  std::ranges::stable_sort(strata, std::greater<>(), &Stratum::share);
  // One draw is kept for the rest wherever there is one.
  size_t own = 0;
  while (own < strata.size() && own < draws && strata[own].share >= kStratumFloor) ++own;
  if (own < strata.size()) {
    own = std::min(own, draws - 1);
    Stratum rest;
    rest.name = "rest";
    for (size_t i = own; i < strata.size(); ++i) {
      rest.in.insert(rest.in.end(), strata[i].in.begin(), strata[i].in.end());
    }
    std::ranges::sort(rest.in);
    rest.share = ShareOf(workloads, rest.in);
    strata.resize(own);
    strata.push_back(std::move(rest));
  }
  for (Stratum& stratum : strata) {
    stratum.draws = 1;
    stratum.members = stratum.in.size();
  }
  return strata;
}

// Further draws go where one more takes most off the variance of the estimate, so that in the end
// they are by share times deviation.
void Allocate(std::vector<Stratum>& strata, size_t draws) {
  for (size_t given = strata.size(); given < draws; ++given) {
    Stratum* best = nullptr;
    double best_value = -1;
    for (Stratum& stratum : strata) {
      if (stratum.draws >= stratum.in.size()) continue;
      const auto drawn = static_cast<double>(stratum.draws);
      const double value = stratum.share * stratum.deviation / std::sqrt(drawn * (drawn + 1));
      if (value > best_value) {
        best = &stratum;
        best_value = value;
      }
    }
    if (best == nullptr) return;  // everything is in
    ++best->draws;
  }
}

// Systematic sampling with probability proportional to share.
void DrawStratum(std::span<const MinedWorkload> workloads, const Stratum& stratum, Random& random,
                 std::vector<SelectedShape>& selected) {
  const auto take = [&](size_t index, double probability) {
    selected.push_back({.workload = index,
                        .as = SelectedAs::kTail,
                        .probability = probability,
                        .weight = workloads[index].share.value / probability,
                        .stratum = stratum.name});
  };
  // Members come largest first, so those with probability 1 come first.
  size_t draws = stratum.draws;
  double left = stratum.share;
  size_t at = 0;
  while (at < stratum.in.size() && draws > 0) {
    const double share = workloads[stratum.in[at]].share.value;
    const bool sure =
        stratum.in.size() - at <= draws || share * static_cast<double>(draws) >= left * (1 - 1e-12);
    if (!sure) break;
    take(stratum.in[at++], 1);
    left -= share;
    --draws;
  }
  if (draws == 0 || at == stratum.in.size()) return;
  left = 0;
  for (size_t i = at; i < stratum.in.size(); ++i) {
    left += workloads[stratum.in[i]].share.value;
  }
  const double step = left / static_cast<double>(draws);
  constexpr double kUnit = 0x1p-53;
  double next = step * static_cast<double>(random.Next() >> 11) * kUnit;
  double passed = 0;
  for (; at < stratum.in.size() && draws > 0; ++at) {
    const size_t index = stratum.in[at];
    passed += workloads[index].share.value;
    if (passed <= next) continue;
    take(index, workloads[index].share.value / step);
    next += step;
    --draws;
  }
}

// What earlier rounds say about the shapes of each stratum; a judged shape may be any member of a
// workload.
AttainedSpread SpreadOf(std::span<const MinedWorkload> workloads,
                        const std::vector<Attained>& attained) {
  AttainedSpread spread;
  if (attained.empty()) return spread;
  std::map<std::string, size_t> by_id;
  for (size_t index = 0; index < workloads.size(); ++index) {
    const Operator& op = *workloads[index].op;
    for (const FleetCell* member : workloads[index].members) {
      by_id.emplace(op.name + "/" + MinedShapeId(member->sums, op), index);
    }
  }
  for (const Attained& one : attained) {
    const auto found = by_id.find(one.workload);
    if (found == by_id.end()) continue;
    const MinedWorkload& workload = workloads[found->second];
    spread.Add(one.candidate, OpPhase(workload), StratumOf(workload), one.attainment);
  }
  return spread;
}

// The tail: strata, draws by stratum, and the draws.
void DrawTail(std::span<const MinedWorkload> workloads, const Indices& tail, size_t draws,
              const SelectOptions& options, SelectedShapes& selected) {
  std::vector<Stratum> strata = MakeStrata(workloads, tail, draws);
  const AttainedSpread spread = SpreadOf(workloads, options.attained);
  for (Stratum& stratum : strata) {
    const AttainedSpread::Deviation deviation = spread.Of(stratum.op_phase, stratum.name);
    stratum.deviation = deviation.value;
    stratum.deviation_of = deviation.from;
  }
  Allocate(strata, draws);
  Random random(options.seed);
  for (const Stratum& stratum : strata) {
    DrawStratum(workloads, stratum, random, selected.shapes);
    selected.strata.push_back(stratum);
  }
}

void AddRobustness(std::span<const MinedWorkload> workloads, std::vector<SelectedShape>& selected) {
  std::set<size_t> taken;
  for (const SelectedShape& shape : selected) taken.insert(shape.workload);
  std::map<std::string, std::pair<size_t, size_t>> extremes;
  for (size_t index = 0; index < workloads.size(); ++index) {
    const auto [entry, fresh] =
        extremes.emplace(workloads[index].op->name, std::pair(index, index));
    if (Load(workloads[index]) < Load(workloads[entry->second.first])) entry->second.first = index;
    if (Load(workloads[index]) > Load(workloads[entry->second.second])) {
      entry->second.second = index;
    }
  }
  for (const auto& [op, ends] : extremes) {
    for (const size_t index : {ends.first, ends.second}) {
      if (!taken.insert(index).second) continue;
      selected.push_back({.workload = index, .as = SelectedAs::kRobustness, .weight = 0});
    }
  }
}

}  // namespace

std::string_view SelectedAsName(SelectedAs as) {
  switch (as) {
    case SelectedAs::kCertain:
      return "certain";
    case SelectedAs::kTail:
      return "tail";
    case SelectedAs::kRobustness:
      break;
  }
  return "robustness";
}

SelectedShapes SelectShapes(std::span<const MinedWorkload> workloads,
                            const SelectOptions& options) {
  const size_t wanted = options.shapes == 0 ? workloads.size() : options.shapes;
  Indices certain;
  if (wanted >= workloads.size()) {
    certain.resize(workloads.size());
    std::iota(certain.begin(), certain.end(), size_t{0});
  } else {
    certain = CertaintyOrder(workloads, options.coverage);
    const size_t for_tail = std::max<size_t>(1, wanted / 10);
    if (certain.size() > wanted - for_tail) certain.resize(wanted - for_tail);
    std::ranges::sort(certain);
  }
  SelectedShapes selected;
  for (const size_t index : certain) {
    selected.shapes.push_back({.workload = index, .weight = workloads[index].share.value});
  }
  Indices tail;
  for (size_t index = 0, next = 0; index < workloads.size(); ++index) {
    if (next < certain.size() && certain[next] == index) {
      ++next;
    } else if (workloads[index].share.value > 0) {
      tail.push_back(index);
    }
  }
  if (!tail.empty()) {
    DrawTail(workloads, tail, std::min(wanted - certain.size(), tail.size()), options, selected);
  }
  AddRobustness(workloads, selected.shapes);
  return selected;
}

}  // namespace roofmark::suite
