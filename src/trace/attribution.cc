// SPDX-License-Identifier: Apache-2.0
// The order of evidence: an operator around the launch that is one operator of ours; a kernel name
// that speaks for itself; a container around it; glue. Everything is asked once per distinct name
// and once per distinct set of arguments.
#include "trace/attribution.h"

#include <tuple>
#include <unordered_map>

#include "trace/batch_lengths.h"
#include "trace/recipe.h"

namespace roofmark::trace {
namespace {

// Rules by text, each looked up once.
class RuleCache {
 public:
  RuleCache(const Rules& rules, const StringTable& text)
      : rules_(rules), text_(text), ops_(text.size()), kernels_(text.size()) {}

  const OpRule* Op(TextId name) {
    Entry<OpRule>& entry = ops_[name];
    if (!entry.asked) entry = {true, rules_.FindOp(text_.Text(name))};
    return entry.rule;
  }
  const KernelRule* Kernel(TextId name) {
    Entry<KernelRule>& entry = kernels_[name];
    if (!entry.asked) entry = {true, rules_.FindKernel(text_.Text(name))};
    return entry.rule;
  }

 private:
  template <typename T>
  struct Entry {
    bool asked = false;
    const T* rule = nullptr;
  };
  const Rules& rules_;
  const StringTable& text_;
  std::vector<Entry<OpRule>> ops_;
  std::vector<Entry<KernelRule>> kernels_;
};

// A profile whose operators can claim kernels: the profile itself, or a capture of its graphs.
struct Place {
  const Profile* profile;
  const OpForest* forest;
  RuleCache rules;
  uint32_t first_call;  // numbers of operator calls, distinct over all places
};

// What the operators around a launch say.
struct Surroundings {
  const OpRule* rule = nullptr;  // of the operator that is one of ours, else of a container
  uint32_t op = kNone32;         // its row
  const OpRule* generic = nullptr;
  uint32_t generic_op = kNone32;
};

Surroundings LookAround(Place& place, uint32_t op) {
  Surroundings around;
  for (; op != kNone32; op = place.forest->Parent(op)) {
    const OpRule* rule = place.rules.Op(place.profile->ops[op].name);
    if (rule == nullptr) continue;
    if (rule->level == OpLevel::kGeneric) {
      if (around.generic == nullptr) {
        around.generic = rule;
        around.generic_op = op;
      }
      continue;
    }
    if (rule->level == OpLevel::kOperator) {
      around.rule = rule;
      around.op = op;
      return around;
    }
    if (around.rule == nullptr) {
      around.rule = rule;
      around.op = op;
    }
  }
  return around;
}

// Which operator, and the call whose arguments give its shape.
struct Decision {
  std::string_view op;
  const OpRule* shaped_by = nullptr;
  uint32_t call = kNone32;
};

Decision Decide(const Surroundings& around, const KernelRule* kernel) {
  const auto by_op = [&] { return Decision{around.rule->op, around.rule, around.op}; };
  if (around.rule != nullptr && around.rule->level == OpLevel::kOperator) return by_op();
  if (kernel != nullptr && kernel->level != OpLevel::kGeneric) {
    Decision decision{.op = kernel->op};
    if (around.rule != nullptr && around.rule->op == kernel->op) {
      decision.shaped_by = around.rule;
      decision.call = around.op;
    }
    return decision;
  }
  if (around.rule != nullptr) return by_op();
  if (kernel != nullptr) return {.op = kernel->op};
  if (around.generic != nullptr) {
    return {around.generic->op, around.generic, around.generic_op};
  }
  return {};
}

// Arguments as texts; views into a profile's string table.
struct ArgumentTexts {
  std::string_view dims;
  std::string_view types;
  std::string_view concrete;
};

ArgumentTexts TextsOf(const Place& place, uint32_t row) {
  const CpuOp& op = place.profile->ops[row];
  const auto text = [&](TextId id) {
    return id == kNoText ? std::string_view() : place.profile->text.Text(id);
  };
  return {text(op.dims), text(op.types), text(op.concrete)};
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
             Phase file_phase)
      : profile_(profile), linked_(linked), captures_(captures), file_phase_(file_phase) {
    AddPlace(profile, forest, rules);
    for (const auto& capture : captures) AddPlace(capture->profile, *capture->forest, rules);
    for (Place& place : places_) CollectFacts(place);
  }

  Attribution Run() {
    const Compatible compatible = [&](std::string_view kernel, const CaptureProfile& capture,
                                      const CapturedNode& node) {
      return IsCompatible(kernel, capture, node);
    };
    GraphPairing pairing = PairGraphs(profile_, linked_, captures_, compatible);
    out_.pairing = pairing.report;
    for (uint32_t row = 0; row < profile_.kernels.size(); ++row) {
      TakeKernel(row, pairing.origins[row]);
    }
    return std::move(out_);
  }

 private:
  using ClaimKey = std::tuple<std::string_view, const OpRule*, const char*, const char*,
                              const char*, uint32_t, Phase>;

  void AddPlace(const Profile& profile, const OpForest& forest, const Rules& rules) {
    places_.push_back({&profile, &forest, RuleCache(rules, profile.text), next_call_});
    next_call_ += static_cast<uint32_t>(profile.ops.size());
  }

  // A fact on which operators of the profile disagree is none.
  void CollectFacts(Place& place) {
    std::map<const char*, bool> done;
    for (uint32_t row = 0; row < place.profile->ops.size(); ++row) {
      const CpuOp& op = place.profile->ops[row];
      const OpRule* rule = place.rules.Op(op.name);
      if (rule == nullptr || rule->facts.empty() || op.dims == kNoText) continue;
      const ArgumentTexts texts = TextsOf(place, row);
      if (!done.emplace(texts.dims.data(), true).second) continue;
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

  Phase PhaseOf(const Link& link, const KernelRule* kernel) const {
    if (link.label != kNone32) return linked_.labels[link.label].phase;
    if (file_phase_ != Phase::kUnknown) return file_phase_;
    return kernel == nullptr ? Phase::kUnknown : kernel->phase;
  }

  void TakeKernel(uint32_t row, const CapturedOrigin& origin) {
    const Link& link = linked_.links[row];
    const KernelRule* kernel = places_[0].rules.Kernel(profile_.kernels[row].name);
    const bool captured = origin.capture != kNone32;
    Place& place = places_[captured ? origin.capture + 1 : 0];
    const uint32_t op = captured ? origin.op : link.kind == LinkKind::kGraph ? kNone32 : link.op;
    const Decision decision = Decide(LookAround(place, op), kernel);
    out_.claim_of.push_back(ClaimFor(place, decision, link, PhaseOf(link, kernel)));
    // Each replay of a captured call is a call of its own; replays are told apart by their launch.
    uint32_t call = decision.call;
    if (call != kNone32) {
      call += place.first_call;
      if (captured || link.kind == LinkKind::kGraphNode) {
        const auto [entry, fresh] = replays_.try_emplace({link.call, call}, next_call_);
        if (fresh) ++next_call_;
        call = entry->second;
      }
    }
    out_.call_of.push_back(call);
    out_.auxiliary.push_back(kernel != nullptr && kernel->auxiliary);
  }

  uint32_t ClaimFor(const Place& place, const Decision& decision, const Link& link, Phase phase) {
    ArgumentTexts texts;
    if (decision.shaped_by != nullptr) texts = TextsOf(place, decision.call);
    const bool labelled = decision.shaped_by != nullptr && decision.shaped_by->lengths;
    const ClaimKey key{decision.op,
                       decision.shaped_by,
                       texts.dims.data(),
                       texts.types.data(),
                       texts.concrete.data(),
                       labelled ? link.label : kNone32,
                       phase};
    const auto [entry, fresh] = known_.try_emplace(key, static_cast<uint32_t>(out_.claims.size()));
    if (!fresh) return entry->second;
    Claim claim{.op = std::string(decision.op), .axes = {}, .dtypes = {}, .phase = phase};
    if (decision.shaped_by != nullptr && !texts.dims.empty()) {
      const OpArguments arguments = ParseArguments(texts.dims, texts.types, texts.concrete);
      const StepLabel* label = link.label == kNone32 ? nullptr : &linked_.labels[link.label];
      const Recorded recorded = place.profile == &profile_ && link.kind != LinkKind::kGraphNode
                                    ? Recorded::kAtCall
                                    : Recorded::kAtCapture;
      claim.axes = ReadAxes(*decision.shaped_by, arguments, facts_, label, recorded);
      for (const auto& [tensor, argument] : decision.shaped_by->dtypes) {
        const auto at = static_cast<size_t>(argument);
        if (at < arguments.types.size()) {
          claim.dtypes[tensor] = ElementTypeName(arguments.types[at]);
        }
      }
    }
    out_.claims.push_back(std::move(claim));
    return entry->second;
  }

  const Profile& profile_;
  const LinkedProfile& linked_;
  const std::vector<std::unique_ptr<CaptureProfile>>& captures_;
  Phase file_phase_;
  std::vector<Place> places_;
  Facts facts_;
  std::vector<std::string> disputed_;
  std::map<ClaimKey, uint32_t> known_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> replays_;
  uint32_t next_call_ = 0;
  Attribution out_;
};

}  // namespace

Attribution Attribute(const Profile& profile, const LinkedProfile& linked, const OpForest& forest,
                      const std::vector<std::unique_ptr<CaptureProfile>>& captures,
                      const Rules& rules, Phase file_phase) {
  return Attributor(profile, linked, forest, captures, rules, file_phase).Run();
}

}  // namespace roofmark::trace
