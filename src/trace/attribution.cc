// SPDX-License-Identifier: Apache-2.0
// Everything is asked once per distinct name and once per distinct set of arguments; decision.h has
// the order of evidence.
#include "trace/attribution.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "trace/batch_lengths.h"
#include "trace/decision.h"
#include "trace/explain_launch.h"
#include "trace/phase_split.h"
#include "trace/replayed_calls.h"

namespace roofmark::trace {
namespace {

// Views into a profile's string table.
OpTexts TextsOf(const Place& place, uint32_t row) {
  return OpTextsOf(place.profile->ops[row].arguments, place.profile->text);
}

// A recipe that cannot be computed leaves the shape unknown. Recipes were parsed when the rules
// were loaded.
std::optional<int64_t> Compute(const std::string& recipe, const OpArguments& arguments,
                               const Facts& facts) {
  if (recipe.empty()) return std::nullopt;
  const auto value = EvaluateRecipe(recipe, arguments, facts);
  return value ? *value : std::nullopt;
}

// Whether the arguments are those of the call itself, or of the capture of the graph that replays
// it. A captured longest length is what the graph was made for, not what this step had.
enum class Recorded { kAtCall, kAtCapture };

Axes ReadAxes(const OpRule& rule, const OpArguments& arguments, const Facts& facts,
              const StepLabel* label, Recorded recorded) {
  Axes axes;
  for (const auto& [axis, recipe] : rule.axes) {
    const std::optional<int64_t> value = Compute(recipe, arguments, facts);
    if (!value || *value < 0) return {};
    axes.emplace(axis, *value);
  }
  if (!rule.lengths) return axes;
  if (label == nullptr) return {};
  const auto longest = [&](const std::string& recipe) {
    return recorded == Recorded::kAtCall ? Compute(recipe, arguments, facts).value_or(-1) : -1;
  };
  const auto lengths = RebuildLengths(*label, longest(rule.max_q), longest(rule.max_k));
  if (!lengths) return {};
  axes.emplace("q_lens", lengths->q_lens);
  axes.emplace("kv_lens", lengths->kv_lens);
  return axes;
}

class Attributor {
 public:
  Attributor(const Profile& profile, const LinkedProfile& linked, const OpForest& forest,
             const std::vector<std::unique_ptr<CaptureProfile>>& captures, const Rules& rules,
             const AttributionOptions& options)
      : profile_(profile), linked_(linked), captures_(captures), options_(options) {
    AddPlace(profile, forest, rules);
    for (const auto& capture : captures) AddPlace(capture->profile, *capture->forest, rules);
    for (Place& place : places_) CollectFacts(place);
    for (const auto& [fact, value] : options.facts) {
      if (facts_.emplace(fact, value).second) stated_.emplace(fact, value);
    }
  }

  Attribution Run() {
    const Compatible compatible = [&](std::string_view kernel, const CaptureProfile& capture,
                                      const CapturedNode& node) {
      return IsCompatible(kernel, capture, node);
    };
    pairing_ = PairGraphs(profile_, linked_, captures_, compatible);
    out_.pairing = pairing_.report;
    const size_t kernels = profile_.kernels.size();
    out_.claim_of.reserve(kernels);
    out_.call_of.reserve(kernels);
    out_.auxiliary.reserve(kernels);
    replays_.emplace(linked_.links, next_call_);
    for (uint32_t row = 0; row < kernels; ++row) TakeKernel(row, pairing_.OriginOf(row));
    for (auto& [text, explanation] : explained_) {
      out_.explanations.push_back(std::move(explanation));
    }
    std::ranges::stable_sort(out_.explanations, std::greater<>(), &Explanation::sum_ns);
    return std::move(out_);
  }

 private:
  // Equal for launches of one claim.
  struct ClaimKey {
    std::string_view op;
    const OpRule* shaped_by = nullptr;
    const Place* place = nullptr;  // of the arguments
    TextId arguments = kNoText;
    uint32_t label = kNone32;
    int64_t tokens = 0;
    Phase phase = Phase::kUnknown;
    bool operator==(const ClaimKey&) const = default;
  };
  struct HashClaimKey {
    size_t operator()(const ClaimKey& key) const {
      uint64_t hash = HashText(key.op);
      for (const uint64_t part :
           {reinterpret_cast<uint64_t>(key.shaped_by), reinterpret_cast<uint64_t>(key.place),
            uint64_t{key.arguments} << 32 | key.label, static_cast<uint64_t>(key.tokens),
            static_cast<uint64_t>(key.phase)}) {
        hash = (hash ^ part) * 0x9E3779B97F4A7C15U;
        hash ^= hash >> 29;
      }
      return hash;
    }
  };

  // One launch and what is known of it.
  struct Taken {
    uint32_t row = 0;
    const Link* link = nullptr;
    const KernelRule* kernel = nullptr;
    CapturedOrigin origin;
    Place* place = nullptr;
    uint32_t op = kNone32;
    Decision decision;
    Phase phase = Phase::kUnknown;
  };

  void AddPlace(const Profile& profile, const OpForest& forest, const Rules& rules) {
    places_.push_back({&profile, &forest, RuleCache(rules, profile.text), next_call_});
    next_call_ += static_cast<uint32_t>(profile.ops.size());
  }

  // A fact on which operators of the profile disagree is none.
  void CollectFacts(Place& place) {
    std::unordered_set<std::string_view> done;
    for (uint32_t row = 0; row < place.profile->ops.size(); ++row) {
      const OpRule* rule = place.rules.Op(place.profile->ops[row].name);
      if (rule == nullptr || rule->facts.empty()) continue;
      const OpTexts texts = TextsOf(place, row);
      if (texts.dims.empty() || !done.emplace(texts.dims).second) continue;
      const OpArguments arguments = ParseArguments(texts.dims, texts.types, texts.concrete);
      for (const auto& [fact, recipe] : rule->facts) {
        const std::optional<int64_t> value = Compute(recipe, arguments, {});
        if (!value) continue;
        const auto [entry, fresh] = facts_.emplace(fact, *value);
        if (!fresh && entry->second != *value) disputed_.push_back(fact);
      }
    }
    for (const std::string& fact : disputed_) facts_.erase(fact);
  }

  bool IsCompatible(std::string_view kernel, const CaptureProfile& capture,
                    const CapturedNode& node) {
    const KernelRule* named = places_[0].rules.Kernel(profile_.text.Find(kernel));
    if (named == nullptr || named->level != OpLevel::kOperator) return true;
    for (size_t i = 0; i < captures_.size(); ++i) {
      if (captures_[i].get() != &capture) continue;
      const Surroundings around = LookAround(places_[i + 1], node.op);
      return around.rule == nullptr || around.rule->level != OpLevel::kOperator ||
             around.rule->op == named->op;
    }
    return true;
  }

  const StepLabel* LabelOf(const Link& link) const {
    return link.label == kNone32 ? nullptr : &linked_.labels[link.label];
  }

  Phase PhaseOf(const Link& link, const KernelRule* kernel) const {
    const Phase named = kernel == nullptr ? Phase::kUnknown : kernel->phase;
    if (const StepLabel* label = LabelOf(link)) {
      // Where a mixed step launches kernels of its own for one phase, their names say which.
      return label->phase == Phase::kMixed && named != Phase::kUnknown ? named : label->phase;
    }
    return options_.file_phase != Phase::kUnknown ? options_.file_phase : named;
  }

  void TakeKernel(uint32_t row, const CapturedOrigin& origin) {
    Taken taken{.row = row, .link = &linked_.links[row], .origin = origin};
    const Link& link = *taken.link;
    taken.kernel = places_[0].rules.Kernel(profile_.kernels[row].name);
    const bool captured = origin.capture != kNone32;
    taken.place = &places_[captured ? origin.capture + 1 : 0];
    taken.op = captured ? origin.op : link.kind == LinkKind::kGraph ? kNone32 : link.op;
    taken.decision = Decide(LookAround(*taken.place, taken.op), taken.kernel);
    if (origin.disputed) taken.decision.shaped_by = nullptr;
    taken.phase = PhaseOf(link, taken.kernel);
    out_.claim_of.push_back(ClaimFor(taken));
    // Each replay of a captured call is a call of its own; replays are told apart by their launch.
    uint32_t call = taken.decision.call;
    if (call != kNone32) {
      call += taken.place->first_call;
      if (captured || link.kind == LinkKind::kGraphNode) call = replays_->NumberOf(link, call);
    }
    replays_->Done(link);
    out_.call_of.push_back(call);
    out_.auxiliary.push_back(taken.kernel != nullptr && taken.kernel->auxiliary);
    const ShapeEvidence evidence = EvidenceOf(taken, out_.claims[out_.claim_of.back()]);
    const auto from = static_cast<size_t>(FindShapeFrom(evidence));
    out_.shape_times[from] += profile_.kernels[row].dur_ns;
    if (!options_.explain.empty()) Explain(taken, evidence);
  }

  // A mixed step's claims, and those of graphs that were padded, depend on the step.
  uint32_t ClaimFor(const Taken& taken) {
    const Decision& decision = taken.decision;
    const OpRule* shaped_by = decision.shaped_by;
    TextId arguments = kNoText;
    if (shaped_by != nullptr) arguments = taken.place->profile->ops[decision.call].arguments;
    const bool of_step = taken.phase == Phase::kMixed || taken.origin.tokens > 0 ||
                         (shaped_by != nullptr && shaped_by->lengths);
    const ClaimKey key{.op = decision.op,
                       .shaped_by = shaped_by,
                       .place = arguments == kNoText ? nullptr : taken.place,
                       .arguments = arguments,
                       .label = of_step ? taken.link->label : kNone32,
                       .tokens = taken.origin.tokens,
                       .phase = taken.phase};
    const auto [entry, fresh] = known_.try_emplace(key, static_cast<uint32_t>(out_.claims.size()));
    if (!fresh) return entry->second;
    const uint32_t number = entry->second;
    Claim claim{.op = std::string(decision.op), .phase = taken.phase};
    if (HasDims(arguments, taken.place->profile->text)) {
      GiveShape(taken, TextsOf(*taken.place, decision.call), claim);
    }
    out_.claims.push_back(std::move(claim));
    if (taken.phase == Phase::kMixed) Split(number, LabelOf(*taken.link));
    return number;
  }

  void GiveShape(const Taken& taken, const OpTexts& texts, Claim& claim) const {
    const OpRule& rule = *taken.decision.shaped_by;
    const OpArguments arguments = ParseArguments(texts.dims, texts.types, texts.concrete);
    const StepLabel* label = LabelOf(*taken.link);
    const bool at_call =
        taken.place->profile == &profile_ && taken.link->kind != LinkKind::kGraphNode;
    claim.axes = ReadAxes(rule, arguments, facts_, label,
                          at_call ? Recorded::kAtCall : Recorded::kAtCapture);
    for (const auto& [tensor, argument] : rule.dtypes) {
      const auto at = static_cast<size_t>(argument);
      if (at < arguments.types.size()) claim.dtypes[tensor] = ElementTypeName(arguments.types[at]);
    }
    if (label == nullptr) return;
    if (rule.lengths) MeasureLengths(*label, claim);
    MeasurePadding(*label, taken.origin.tokens, claim);
  }

  static void MeasureLengths(const StepLabel& label, Claim& claim) {
    const auto take = [&](const char* name, int64_t one, int64_t other) {
      int64_t sum = 0;
      if (one < 0 || other < 0 || __builtin_add_overflow(one, other, &sum)) return;
      claim.measures[name] = sum;
    };
    const auto known = [](const StepPart& part, int64_t value) {
      return part.sequences == 0 ? int64_t{0} : value;
    };
    const StepPart& a = label.context;
    const StepPart& b = label.generation;
    take("q", a.tokens, b.tokens);
    take("k", known(a, a.keys), known(b, b.keys));
    take("qq", known(a, a.tokens_squared), known(b, b.tokens_squared));
    take("qk", known(a, a.tokens_keys), known(b, b.tokens_keys));
  }

  // A graph runs the number of tokens that it was captured for, whatever the step had.
  static void MeasurePadding(const StepLabel& label, int64_t captured, Claim& claim) {
    int64_t tokens = 0;
    if (__builtin_add_overflow(label.context.tokens, label.generation.tokens, &tokens)) return;
    if (captured <= 0 || tokens <= 0 || tokens > captured) return;
    for (const auto& [axis, value] : claim.axes) {
      const int64_t* size = std::get_if<int64_t>(&value);
      if (size == nullptr || *size == 0 || *size % captured != 0) continue;
      if (axis == "tokens" || axis == "rows" || axis == "m") {
        claim.measures["true." + axis] = *size / captured * tokens;
      }
    }
  }

  // What the work of an operator of ours is proportional to.
  static WorkUnit UnitOf(std::string_view op) {
    if (op.find("attention") != std::string_view::npos) return WorkUnit::kScores;
    return op == "sampling" || op == "topk_filter" ? WorkUnit::kSequences : WorkUnit::kTokens;
  }

  void Split(uint32_t number, const StepLabel* label) {
    if (label == nullptr) return;
    const auto weights = WeightsOf(*label, UnitOf(out_.claims[number].op));
    if (!weights) return;
    const bool prefill = weights->prefill >= weights->decode;
    Claim other = out_.claims[number];
    other.measures.clear();
    other.phase = prefill ? Phase::kDecode : Phase::kPrefill;
    Claim& here = out_.claims[number];
    here.phase = prefill ? Phase::kPrefill : Phase::kDecode;
    here.split = ClaimSplit{.other = static_cast<uint32_t>(out_.claims.size()),
                            .part = prefill ? weights->decode : weights->prefill,
                            .whole = weights->prefill + weights->decode};
    out_.claims.push_back(std::move(other));
  }

  ShapeEvidence EvidenceOf(const Taken& taken, const Claim& claim) const {
    ShapeEvidence evidence{.shaped = !claim.axes.empty(), .link = taken.link->kind};
    if (taken.origin.capture != kNone32) {
      evidence.origin = &taken.origin;
      evidence.graph = &pairing_.graphs[taken.origin.graph];
      evidence.capture = captures_[taken.origin.capture]->name;
    } else if (options_.traced != nullptr && taken.decision.call != kNone32) {
      evidence.traced = options_.traced->Of(taken.decision.call);
      if (evidence.traced != nullptr)
        evidence.trace = options_.traced->names[evidence.traced->trace];
    }
    return evidence;
  }

  void Explain(const Taken& taken, const ShapeEvidence& evidence) {
    const Launch launch = profile_.kernels[taken.row];
    const Claim& claim = out_.claims[out_.claim_of.back()];
    const bool named =
        profile_.text.Text(launch.name).find(options_.explain) != std::string_view::npos;
    if (!named && claim.op != options_.explain) return;
    std::vector<std::string> lines =
        ExplainLaunch({.profile = &profile_,
                       .launch = &launch,
                       .link = taken.link,
                       .label = LabelOf(*taken.link),
                       .kernel = taken.kernel,
                       .place = taken.place,
                       .op = taken.op,
                       .decision = &taken.decision,
                       .claim = &claim,
                       .other = claim.split ? &out_.claims[claim.split->other] : nullptr,
                       .phase = taken.phase,
                       .file_phase = options_.file_phase,
                       .shape = evidence,
                       .facts = &facts_,
                       .stated = &stated_});
    Explanation& explanation = explained_[Join(lines, "\n")];
    explanation.lines = std::move(lines);
    explanation.shape_from = FindShapeFrom(evidence);
    ++explanation.launches;
    explanation.sum_ns += launch.dur_ns;
  }

  const Profile& profile_;
  const LinkedProfile& linked_;
  const std::vector<std::unique_ptr<CaptureProfile>>& captures_;
  const AttributionOptions& options_;
  std::vector<Place> places_;
  Facts facts_;
  Facts stated_;  // of these, what the options state
  GraphPairing pairing_;
  std::vector<std::string> disputed_;
  std::unordered_map<ClaimKey, uint32_t, HashClaimKey> known_;
  std::optional<ReplayedCalls> replays_;
  std::map<std::string, Explanation> explained_;  // by their lines
  uint32_t next_call_ = 0;
  Attribution out_;
};

}  // namespace

Attribution Attribute(const Profile& profile, const LinkedProfile& linked, const OpForest& forest,
                      const std::vector<std::unique_ptr<CaptureProfile>>& captures,
                      const Rules& rules, const AttributionOptions& options) {
  return Attributor(profile, linked, forest, captures, rules, options).Run();
}

}  // namespace roofmark::trace
