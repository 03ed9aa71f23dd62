// SPDX-License-Identifier: Apache-2.0
// Containment decides where it can; External id helps where a call's thread has no operators. In
// old profiles External id repeats the correlation id and is ignored.
#include "trace/links.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace roofmark::trace {
namespace {

class Labels {
 public:
  explicit Labels(const Profile& profile) : profile_(profile), by_text_(profile.text.size()) {
    for (uint32_t row = 0; row < profile.ops.size(); ++row) {
      if (profile.ops[row].annotation && LabelOf(profile.ops[row].name) != kNone32) {
        rows_.push_back(row);
      }
    }
    for (const GpuRange& range : profile.gpu_ranges) {
      if (LabelOf(range.name) != kNone32) ranges_.push_back(&range);
    }
  }

  // The label of an annotation's text, kNone32 where it is none. Each text is parsed once.
  uint32_t LabelOf(TextId name) {
    Known& known = by_text_[name];
    if (!known.parsed) {
      known.parsed = true;
      if (const auto label = ParseStepLabel(profile_.text.Text(name))) {
        known.label = static_cast<uint32_t>(labels_.size());
        labels_.push_back(*label);
      }
    }
    return known.label;
  }

  // Steps carry up to two labels around each other; the one that says more is taken.
  uint32_t Better(uint32_t one, uint32_t other) const {
    if (one == kNone32 || other == kNone32) return one == kNone32 ? other : one;
    return !labels_[one].Detailed() && labels_[other].Detailed() ? other : one;
  }

  uint32_t Around(uint32_t op, const OpForest& forest) {
    uint32_t best = kNone32;
    for (; op != kNone32; op = forest.Parent(op)) {
      if (profile_.ops[op].annotation) best = Better(best, LabelOf(profile_.ops[op].name));
    }
    return best;
  }

  // For calls of threads that carry no labels: a step of whatever thread around that time.
  uint32_t At(int64_t time_ns) {
    uint32_t best = kNone32;
    for (const uint32_t row : rows_) {
      const CpuOp& op = profile_.ops[row];
      if (op.start_ns <= time_ns && time_ns <= op.end_ns) best = Better(best, LabelOf(op.name));
    }
    return best;
  }

  // For kernels without a call: the label projected on the device around its start.
  uint32_t OnDevice(const Launch& kernel) {
    uint32_t best = kNone32;
    for (const GpuRange* range : ranges_) {
      if (range->device == kernel.device && range->start_ns <= kernel.start_ns &&
          kernel.start_ns <= range->end_ns) {
        best = Better(best, LabelOf(range->name));
      }
    }
    return best;
  }

  std::vector<StepLabel> Take() { return std::move(labels_); }

 private:
  struct Known {
    bool parsed = false;
    uint32_t label = kNone32;
  };
  const Profile& profile_;
  std::vector<Known> by_text_;
  std::vector<StepLabel> labels_;
  std::vector<uint32_t> rows_;           // annotations that are labels
  std::vector<const GpuRange*> ranges_;  // labels on the device
};

// What is the same for all kernels of one call: graphs launch hundreds, one after the other.
struct CallContext {
  uint32_t call = kNone32;
  uint32_t op = kNone32;
  uint32_t label = kNone32;
};

// The operator in which a graph's node was made; none where there is no node.
uint32_t OperatorOfNode(const Profile& profile, const OpForest& forest, uint32_t node,
                        OpForest::Places& places) {
  if (node == kNone32) return kNone32;
  return forest.Innermost(profile.nodes[node].thread, profile.nodes[node].start_ns, places);
}

// A copy is a node where kernels with its correlation id are.
std::vector<std::pair<uint32_t, uint32_t>> GraphCopies(const Profile& profile, const Links& links) {
  std::vector<std::pair<uint32_t, uint32_t>> copies;
  if (profile.copies.empty()) return copies;
  std::unordered_map<uint64_t, uint32_t> call_of;
  for (uint32_t row = 0; row < links.size(); ++row) {
    if (links[row].kind != LinkKind::kGraph) continue;
    call_of[profile.kernels[row].correlation] = links[row].call;
  }
  for (uint32_t row = 0; row < profile.copies.size(); ++row) {
    const auto found = call_of.find(profile.copies[row].correlation);
    if (found != call_of.end()) copies.emplace_back(found->second, row);
  }
  std::ranges::stable_sort(copies, {}, [](const auto& copy) { return copy.first; });
  return copies;
}

bool Holds(const CpuOp& op, const RuntimeCall& call) {
  return op.thread == call.thread && op.start_ns <= call.start_ns && call.start_ns <= op.end_ns;
}

}  // namespace

LinkedProfile LinkKernels(const Profile& profile, const CallFinder& calls, const OpForest& forest,
                          const IdIndex& ops, const Totals& totals) {
  Labels labels(profile);
  std::array<CallContext, 64> contexts;  // of a few calls, as kernels of streams take turns
  OpForest::Places of_calls;
  OpForest::Places of_nodes;
  const bool trusted = ExternalIdsAreReal(totals);
  LinkedProfile linked;
  for (uint32_t row = 0; row < profile.kernels.size(); ++row) {
    const Launch kernel = profile.kernels[row];
    Link link{.call = calls.Find(kernel)};
    const uint32_t named =
        trusted && kernel.external_id != kNoId ? ops.First(kernel.external_id) : kNone32;
    const uint32_t node = profile.node_of.empty() ? kNone32 : profile.node_of[row];
    if (link.call == kNone32 && node == kNone32) {
      // Nothing to check the id against; the profile's window cut the call off.
      link.op = named;
      link.kind = named == kNone32 ? LinkKind::kNone : LinkKind::kExternalId;
      link.label = labels.Better(labels.Around(named, forest), labels.OnDevice(kernel));
      linked.links.push_back(link);
      continue;
    }
    const uint32_t made = OperatorOfNode(profile, forest, node, of_nodes);
    if (link.call == kNone32) {
      link.op = made;
      link.kind = made == kNone32 ? LinkKind::kGraph : LinkKind::kGraphNode;
      link.label = labels.OnDevice(kernel);
      linked.links.push_back(link);
      continue;
    }
    const RuntimeCall& call = profile.calls[link.call];
    CallContext& context = contexts[link.call % contexts.size()];
    if (context.call != link.call) {
      context.call = link.call;
      context.op = forest.Innermost(call.thread, call.start_ns, of_calls);
      context.label = labels.Around(context.op, forest);
      if (context.label == kNone32) context.label = labels.At(call.start_ns);
    }
    link.op = context.op;
    link.label = context.label;
    link.kind = context.op == kNone32 ? LinkKind::kNone : LinkKind::kContainment;
    if (made != kNone32) {
      link.op = made;
      link.kind = LinkKind::kGraphNode;
    } else if (node != kNone32 || calls.IsGraphLaunch(link.call)) {
      link.kind = LinkKind::kGraph;
    } else if (named != kNone32) {
      if (Holds(profile.ops[named], call)) {
        link.kind = LinkKind::kExternalId;
        if (context.op == kNone32 || !forest.Encloses(named, context.op)) link.op = named;
      }
    }
    linked.links.push_back(link);
  }
  linked.labels = labels.Take();
  linked.graph_copies = GraphCopies(profile, linked.links);
  return linked;
}

}  // namespace roofmark::trace
