// SPDX-License-Identifier: Apache-2.0
#include "gate/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>

#include "base/elapsed.h"
#include "base/hash.h"
#include "gate/output_check.h"
#include "gate/paired_blocks.h"

namespace roofmark::gate {
namespace {

using Clock = std::chrono::steady_clock;

// A batch of few calls has much of its cost around them, a block of many calls has few blocks.
constexpr size_t kSlotsPerBlock = 8;
// By how much the ratio of blocks may differ from that of the published times before neither is
// believed: a clock that behaves only when watched alone.
constexpr double kLargestDisagreement = 1.25;

// Two contestants on one workload, and what they have shown so far.
class Pair {
 public:
  Pair(Session& session, Contestant& candidate, Contestant& baseline, const Bench& bench,
       const JudgeOptions& options)
      : session_(session),
        sides_{Side{.contestant = candidate}, Side{.contestant = baseline}},
        bench_(bench),
        options_(options) {}

  // One of them may have been refused while the other waited.
  ~Pair() {
    for (Side& side : sides_) side.contestant.Wake(bench_.stopwatch);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  // Plays until it is decided or the plan ends. False when one of the two was refused on the way.
  Result<bool> Play(const BlockPlan& plan, double margin);
  Against& against() { return against_; }

 private:
  struct Side {
    Contestant& contestant;
    SeenOutputs seen;
    Shares owner_ns{};
  };

  Result<bool> PlayBlocks(size_t blocks, std::vector<double>* logs);
  Result<bool> PlayRound(std::vector<double>* logs);
  Result<std::optional<double>> PlayBlock(std::span<const size_t> slots);
  Result<void> Refill(const std::vector<size_t>& slots);
  Result<bool> TimeGroup(Side& side, const std::vector<size_t>& slots, std::vector<double>* times);
  Result<bool> CheckOne(size_t slot);
  Result<bool> Move();
  bool Owns(Side& side) const;

  Session& session_;
  std::array<Side, 2> sides_;  // candidate, baseline
  const Bench& bench_;
  const JudgeOptions& options_;
  Random random_{static_cast<uint64_t>(RandomSeed())};
  Against against_;
};

Result<bool> Pair::TimeGroup(Side& side, const std::vector<size_t>& slots,
                             std::vector<double>* times) {
  Contestant& contestant = side.contestant;
  for (const size_t slot : slots) TRY(PrepareSlot(session_, contestant, slot));
  BatchTimes batch;
  if (!TRY(contestant.Time(bench_.stopwatch, slots, session_.inputs(), &batch))) return false;
  for (const size_t slot : slots) {
    if (!TRY(CheckSafety(session_, contestant, slot, Gate::kPerformance, &side.seen))) return false;
  }
  if (!batch.unsynchronised.empty()) {
    contestant.Refuse(Gate::kPerformance, Outcome::kUnsynchronised, batch.unsynchronised);
    return false;
  }
  for (size_t i = 0; i < kOwnerCount; ++i) side.owner_ns[i] += batch.owner_ns[i];
  *times = std::move(batch.time_ns);
  return true;
}

// Only what both are about to be called on is there: nobody can work ahead on another half's
// values, nor on these before his calls.
Result<void> Pair::Refill(const std::vector<size_t>& slots) {
  for (Side& side : sides_) side.contestant.Quiet(bench_.stopwatch);
  TRY(session_.Refill(slots, "typical"));
  return {};
}

// First and second on the one half, second and first on the other. Nothing when one was refused.
Result<std::optional<double>> Pair::PlayBlock(std::span<const size_t> slots) {
  const auto middle = static_cast<std::ptrdiff_t>((slots.size() + 1) / 2);
  const std::array<std::vector<size_t>, 2> groups = {
      std::vector<size_t>(slots.begin(), slots.begin() + middle),
      std::vector<size_t>(slots.begin() + middle, slots.end())};
  const size_t first = random_.Below(2);
  std::array<BlockHalf, 2> halves;
  for (const auto& [half, side] : std::array<std::pair<size_t, size_t>, 4>{
           {{0, first}, {0, 1 - first}, {1, 1 - first}, {1, first}}}) {
    if (side == (half == 0 ? first : 1 - first)) TRY(Refill(groups[half]));
    std::vector<double>& times = side == 0 ? halves[half].candidate : halves[half].baseline;
    if (!TRY(TimeGroup(sides_[side], groups[half], &times))) return std::optional<double>();
  }
  return std::optional<double>(BlockLogRatio(halves));
}

Result<bool> Pair::CheckOne(size_t slot) {
  TRY(session_.Expect(slot));
  for (Side& side : sides_) {
    if (!TRY(CheckValues(session_, side.contestant, slot, Gate::kPerformance,
                         {.dump_dir = options_.dump_dir}))) {
      return false;
    }
  }
  return true;
}

Result<bool> Pair::PlayRound(std::vector<double>* logs) {
  std::vector<size_t> order(session_.slots());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.Below(i)]);
  const size_t blocks = std::max<size_t>(1, order.size() / kSlotsPerBlock);
  for (size_t block = 0; block < blocks; ++block) {
    const size_t begin = block * order.size() / blocks;
    const size_t end = (block + 1) * order.size() / blocks;
    const std::optional<double> log = TRY(PlayBlock(std::span(order).subspan(begin, end - begin)));
    if (!log) return false;
    logs->push_back(*log);
  }
  return TRY(CheckOne(order[random_.Below(order.size())])) && TRY(Move());
}

// A block's outputs have places of their own, so that those of no side are better in all of them.
Result<bool> Pair::Move() {
  if (session_.device().info().kind != DeviceKind::kCuda) return true;
  for (Side& side : sides_) {
    if (!TRY(side.contestant.MoveOutputs(session_.device()))) return false;
  }
  return true;
}

Result<bool> Pair::PlayBlocks(size_t blocks, std::vector<double>* logs) {
  while (logs->size() < blocks) {
    if (!TRY(PlayRound(logs))) return false;
  }
  // A round may have given one more than was planned, and the plan does not depend on what it says.
  logs->resize(blocks);
  return true;
}

// Who ran while it was compared; where that was not told (on a CPU), the performance gate's word
// stands.
bool Pair::Owns(Side& side) const {
  Verdict& verdict = side.contestant.verdict;
  const Shares none{};
  if (verdict.role == Role::kBaseline || side.owner_ns == none) return true;
  const double adoption = Adoption(side.owner_ns);
  if (adoption >= options_.require_adoption) return true;
  side.contestant.Refuse(
      Gate::kPerformance, Outcome::kFallback,
      fmt::format("adoption was {:.1f} % while it was compared, under the required {:.1f} %",
                  100 * adoption, 100 * options_.require_adoption));
  return false;
}

Result<bool> Pair::Play(const BlockPlan& plan, double margin) {
  std::vector<double> warm_up;
  if (!TRY(PlayRound(&warm_up))) return false;
  std::vector<double> logs;
  const Clock::time_point begin = Clock::now();
  if (!TRY(PlayBlocks(plan.first_look, &logs))) return false;
  against_ = Weigh(logs, plan.look_error_rate, margin);
  const double spent_s = SecondsSince(begin);
  const double whole_s =
      spent_s * static_cast<double>(plan.last_look) / static_cast<double>(plan.first_look);
  if (against_.standing == Standing::kUndecided && whole_s <= plan.budget_s) {
    if (!TRY(PlayBlocks(plan.last_look, &logs))) return false;
    against_ = Weigh(logs, plan.look_error_rate, margin);
  }
  return Owns(sides_[0]) && Owns(sides_[1]);
}

// Blocks that contradict the published times decide nothing.
void Distrust(const Verdict& candidate, const Verdict& baseline, Against* against) {
  if (!against->ratio) return;
  const double published = candidate.time_ns->median / baseline.time_ns->median;
  const double off = std::abs(std::log(against->ratio->median / published));
  if (off <= std::log(kLargestDisagreement)) return;
  against->standing = Standing::kUndecided;
  against->reason = fmt::format(
      "the blocks say a ratio of {:.3f} and the published times {:.3f}: the machine was disturbed, "
      "or a clock was",
      against->ratio->median, published);
}

bool Comparable(const Verdict& verdict) {
  return verdict.passed() && verdict.gate == Gate::kPerformance && verdict.time_ns;
}

}  // namespace

Result<void> RunComparisons(Session& session, const std::vector<Contestant*>& contestants,
                            const Bench& bench, const JudgeOptions& options) {
  const auto found = std::ranges::find(contestants, options.baseline);
  if (found == contestants.end()) return {};
  Contestant& baseline = **found;
  const BlockPlan plan = PlanBlocks(options.effort, options.line_error_rate);
  for (Contestant* candidate : contestants) {
    if (candidate == &baseline) continue;
    if (!Comparable(candidate->verdict) || !Comparable(baseline.verdict)) continue;
    Pair pair(session, *candidate, baseline, bench, options);
    const double shorter =
        std::min(candidate->verdict.time_ns->median, baseline.verdict.time_ns->median);
    const double margin = MarginOf(shorter, bench.stopwatch.TickNs());
    if (!TRY(pair.Play(plan, margin))) continue;
    Against against = std::move(pair.against());
    Distrust(candidate->verdict, baseline.verdict, &against);
    against.baseline = baseline.candidate().name;
    against.baseline_hash = baseline.candidate().content_hash;
    against.error_rate = kComparisonErrorRate;
    candidate->verdict.against = std::move(against);
  }
  return {};
}

void ExplainMissingComparisons(size_t baseline, std::vector<Verdict>* verdicts) {
  const Verdict& against = (*verdicts)[baseline];
  const auto blame = [](const Verdict& verdict) {
    return fmt::format("{} did not pass on {}/{}: {} at the {} gate", verdict.candidate,
                       verdict.operator_name, verdict.shape, OutcomeName(verdict.outcome),
                       GateName(verdict.gate));
  };
  for (size_t i = 0; i < verdicts->size(); ++i) {
    Verdict& verdict = (*verdicts)[i];
    if (i == baseline) continue;
    const bool both = Comparable(verdict) && Comparable(against);
    if (verdict.against && both) continue;
    // Where both failed, the one that got less far is what has to be mended first.
    const bool mine = !Comparable(verdict) && (Comparable(against) || verdict.gate <= against.gate);
    verdict.against = Against{.baseline = against.candidate,
                              .baseline_hash = against.candidate_hash,
                              .reason = mine ? blame(verdict) : blame(against)};
  }
}

}  // namespace roofmark::gate
