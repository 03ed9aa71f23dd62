// SPDX-License-Identifier: Apache-2.0
// One pairing serves all replays of a graph, so results are kept by the replay's sequence of names.
#include "trace/graph_pairing.h"

#include <algorithm>
#include <map>

#include "trace/op_texts.h"

namespace roofmark::trace {
namespace {

constexpr double kFloor = 0.98;
// Longest alignment that is tried, in pairs of nodes.
constexpr size_t kMaxCells = size_t{1} << 26;
constexpr TextId kCopyName = kNoText - 1;
constexpr TextId kFillName = kNoText - 2;

TextId KindName(LaunchKind kind, TextId kernel) {
  if (kind == LaunchKind::kCopy) return kCopyName;
  return kind == LaunchKind::kFill ? kFillName : kernel;
}

bool IsCopy(TextId name) {
  return name == kCopyName || name == kFillName;
}

size_t CountKernels(const std::vector<TextId>& names) {
  return names.size() - static_cast<size_t>(std::ranges::count_if(names, IsCopy));
}

// A captured graph in the texts of the replay profile, so that names compare as numbers.
struct Candidate {
  uint32_t capture = 0;
  const CapturedGraph* graph = nullptr;
  std::vector<TextId> names;  // kNoText: not recorded, or not in the replay profile
  bool named = false;
};

struct Node {
  TextId name = kNoText;
  uint32_t kernel = kNone32;  // row in profile.kernels; kNone32 for copies and fills
  int64_t start_ns = 0;
};

struct Match {
  const Candidate* candidate = nullptr;
  std::vector<uint32_t> nodes;  // captured node of each replayed one; kNone32 = none
  std::vector<bool> disputed;   // by replayed node: other captures that fit have other sizes
  uint64_t missing = 0;         // kernels that one of both has and the other lacks
  size_t contradicted = 0;      // see PairedGraph, like the next two
  size_t fits = 1;
  PairedBy by = PairedBy::kNames;
  std::vector<uint32_t> origins;  // of each replayed one, in GraphPairing; made when it is used
};

template <typename T, typename Keep>
std::vector<uint32_t> RowsWhere(const std::vector<T>& items, Keep keep) {
  std::vector<uint32_t> rows;
  for (uint32_t i = 0; i < items.size(); ++i) {
    if (keep(items[i])) rows.push_back(i);
  }
  return rows;
}

// The longest common subsequence; for each of `left` the row in `right`, kNone32 where none.
std::vector<uint32_t> Align(const std::vector<TextId>& left, const std::vector<TextId>& right) {
  const size_t rows = left.size();
  const size_t columns = right.size();
  std::vector<uint32_t> match(rows, kNone32);
  if (rows * columns > kMaxCells || rows == 0) return match;
  const size_t width = columns + 1;
  std::vector<uint16_t> best((rows + 1) * width);
  const auto same = [&](size_t i, size_t j) { return left[i] == right[j] && left[i] != kNoText; };
  for (size_t i = rows; i-- > 0;) {
    for (size_t j = columns; j-- > 0;) {
      const uint16_t skip = std::max(best[(i + 1) * width + j], best[i * width + j + 1]);
      const auto take = static_cast<uint16_t>(best[(i + 1) * width + j + 1] + 1);
      best[i * width + j] = same(i, j) ? std::max(skip, take) : skip;
    }
  }
  for (size_t i = 0, j = 0; i < rows && j < columns;) {
    if (same(i, j) && best[i * width + j] == best[(i + 1) * width + j + 1] + 1) {
      match[i++] = static_cast<uint32_t>(j++);
    } else if (best[(i + 1) * width + j] >= best[i * width + j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return match;
}

class Pairer {
 public:
  Pairer(const Profile& profile, const std::vector<std::unique_ptr<CaptureProfile>>& captures,
         const Compatible& compatible)
      : profile_(profile), captures_(captures), compatible_(compatible) {
    for (uint32_t i = 0; i < captures.size(); ++i) {
      for (const CapturedGraph& graph : captures[i]->graphs) AddCandidate(i, graph);
    }
  }

  // Requires: nodes in order of start.
  Match& Find(const std::vector<Node>& nodes, int64_t tokens) {
    std::vector<TextId> names;
    for (const Node& node : nodes) names.push_back(node.name);
    const auto [entry, fresh] = known_.try_emplace({tokens, names});
    if (fresh) entry->second = Search(names, tokens);
    return entry->second;
  }

 private:
  void AddCandidate(uint32_t capture, const CapturedGraph& graph) {
    Candidate candidate{.capture = capture, .graph = &graph};
    const StringTable& text = captures_[capture]->profile.text;
    for (const CapturedNode& node : graph.nodes) {
      TextId name = kNoText;
      if (node.kernel != kNoText) {
        name = profile_.text.Find(text.Text(node.kernel));
        candidate.named = true;
      }
      candidate.names.push_back(KindName(node.kind, name));
    }
    if (!candidate.names.empty()) candidates_.push_back(std::move(candidate));
  }

  // What can have run a step of so many tokens: of each mode the smallest size that holds them,
  // then graphs of which no size is known. All of them where nothing holds them, or nothing is
  // known of the step.
  std::vector<const Candidate*> Asked(int64_t tokens) const {
    std::map<std::string_view, int64_t> smallest;
    for (const Candidate& candidate : candidates_) {
      const int64_t size = candidate.graph->tokens;
      if (tokens <= 0 || size < tokens) continue;
      const auto [entry, fresh] = smallest.try_emplace(candidate.graph->mode, size);
      entry->second = std::min(entry->second, size);
    }
    std::vector<const Candidate*> asked;
    for (const Candidate& candidate : candidates_) {
      const auto found = smallest.find(candidate.graph->mode);
      const bool fits = found != smallest.end() && found->second == candidate.graph->tokens;
      if (smallest.empty() || fits || candidate.graph->tokens < 0) asked.push_back(&candidate);
    }
    std::ranges::stable_sort(asked, {}, [](const Candidate* candidate) {
      return candidate->graph->tokens < 0 ? INT64_MAX : candidate->graph->tokens;
    });
    return asked;
  }

  Match Search(const std::vector<TextId>& names, int64_t tokens) const {
    const std::vector<const Candidate*> order = Asked(tokens);
    Match best;
    for (const bool copies : {true, false}) {
      for (const Candidate* candidate : order) {
        Match match = Exact(names, *candidate, copies);
        if (match.candidate == nullptr) continue;
        if (best.candidate == nullptr) {
          best = std::move(match);
        } else {
          ++best.fits;
          Dispute(match, best);
        }
      }
      if (best.candidate != nullptr) return best;
    }
    for (const Candidate* candidate : order) {
      if (!candidate->named) continue;
      Match match{.candidate = candidate,
                  .nodes = Align(names, candidate->names),
                  .disputed = std::vector<bool>(names.size()),
                  .by = PairedBy::kCommonNames};
      // Of the longer one: a graph that has more nodes than ran is another graph.
      const size_t longer = std::max(CountKernels(names), CountKernels(candidate->names));
      size_t paired = 0;
      for (size_t i = 0; i < names.size(); ++i) {
        if (!IsCopy(names[i]) && match.nodes[i] != kNone32) ++paired;
      }
      match.missing = longer - paired;
      if (static_cast<double>(paired) < kFloor * static_cast<double>(longer)) continue;
      if (best.candidate == nullptr || match.missing < best.missing) best = std::move(match);
    }
    return best;
  }

  // The sizes of a captured node's operator and of those around it.
  std::vector<std::string_view> SizesOf(const Candidate& candidate, uint32_t node) const {
    const CaptureProfile& capture = *captures_[candidate.capture];
    std::vector<std::string_view> sizes;
    for (uint32_t op = candidate.graph->nodes[node].op; op != kNone32;
         op = capture.forest->Parent(op)) {
      const std::string_view dims =
          OpTextsOf(capture.profile.ops[op].arguments, capture.profile.text).dims;
      if (!dims.empty()) sizes.push_back(dims);
    }
    return sizes;
  }

  // Another match of the same nodes: layers of a model agree, graphs of other sizes do not.
  void Dispute(const Match& other, Match& match) const {
    for (size_t i = 0; i < match.nodes.size(); ++i) {
      if (match.nodes[i] == kNone32 || other.nodes[i] == kNone32 || match.disputed[i]) continue;
      match.disputed[i] =
          SizesOf(*match.candidate, match.nodes[i]) != SizesOf(*other.candidate, other.nodes[i]);
    }
  }

  // Node by node, with or without copies and fills.
  Match Exact(const std::vector<TextId>& names, const Candidate& candidate, bool copies) const {
    const auto keep = [&](TextId name) { return copies || !IsCopy(name); };
    const std::vector<uint32_t> left = RowsWhere(names, keep);
    const std::vector<uint32_t> right = RowsWhere(candidate.names, keep);
    if (left.size() != right.size() || left.empty()) return {};
    Match match{.candidate = &candidate,
                .nodes = std::vector<uint32_t>(names.size(), kNone32),
                .disputed = std::vector<bool>(names.size()),
                .by = candidate.named ? PairedBy::kNames : PairedBy::kOrder};
    for (size_t i = 0; i < left.size(); ++i) {
      const TextId replayed = names[left[i]];
      const TextId captured = candidate.names[right[i]];
      if (candidate.named || IsCopy(replayed) || IsCopy(captured)) {
        if (replayed != captured) return {};
      } else if (!compatible_(profile_.text.Text(replayed), *captures_[candidate.capture],
                              candidate.graph->nodes[right[i]])) {
        ++match.contradicted;
      }
      match.nodes[left[i]] = right[i];
    }
    const auto count = static_cast<double>(left.size());
    if (static_cast<double>(match.contradicted) > (1 - kFloor) * count) return {};
    return match;
  }

  const Profile& profile_;
  const std::vector<std::unique_ptr<CaptureProfile>>& captures_;
  const Compatible& compatible_;
  std::vector<Candidate> candidates_;
  std::map<std::pair<int64_t, std::vector<TextId>>, Match> known_;
};

// Calls visit(nodes) for each graph launch, by row of the call, with its nodes in order of start.
template <typename Visit>
void ForEachGraph(const Profile& profile, const LinkedProfile& linked, Visit visit) {
  Rows<uint32_t> kernels;
  for (uint32_t row = 0; row < profile.kernels.size(); ++row) {
    if (linked.links[row].kind == LinkKind::kGraph) kernels.push_back(row);
  }
  const auto call = [&](uint32_t row) { return linked.links[row].call; };
  if (!std::ranges::is_sorted(kernels, {}, call)) std::ranges::stable_sort(kernels, {}, call);
  std::vector<Node> nodes;
  auto copy = linked.graph_copies.begin();
  for (size_t begin = 0; begin < kernels.size();) {
    nodes.clear();
    const uint32_t of = call(kernels[begin]);
    for (; begin < kernels.size() && call(kernels[begin]) == of; ++begin) {
      const Launch kernel = profile.kernels[kernels[begin]];
      nodes.push_back({kernel.name, kernels[begin], kernel.start_ns});
    }
    for (; copy != linked.graph_copies.end() && copy->first <= of; ++copy) {
      const Launch row = profile.copies[copy->second];
      if (copy->first == of) nodes.push_back({KindName(row.kind, kNoText), kNone32, row.start_ns});
    }
    std::ranges::stable_sort(nodes, {}, &Node::start_ns);
    visit(nodes);
  }
}

int64_t StepTokens(const LinkedProfile& linked, const std::vector<Node>& nodes) {
  for (const Node& node : nodes) {
    if (node.kernel == kNone32) continue;
    const uint32_t label = linked.links[node.kernel].label;
    if (label == kNone32) return 0;
    return linked.labels[label].context.tokens + linked.labels[label].generation.tokens;
  }
  return 0;
}

// All replays of a graph share its origins.
void AddOrigins(const std::vector<Node>& nodes, Match& match, GraphPairing& pairing) {
  if (match.candidate == nullptr || !match.origins.empty()) return;
  const Candidate& candidate = *match.candidate;
  const auto graph = static_cast<uint32_t>(pairing.graphs.size());
  const auto kernels =
      std::ranges::count_if(nodes, [](const Node& node) { return node.kernel != kNone32; });
  pairing.graphs.push_back({.by = match.by,
                            .eager = candidate.graph->mode == kEagerMode,
                            .mode = candidate.graph->mode,
                            .nodes = static_cast<size_t>(kernels),
                            .missing = match.missing,
                            .contradicted = match.contradicted,
                            .fits = match.fits});
  for (size_t i = 0; i < match.nodes.size(); ++i) {
    const uint32_t node = match.nodes[i];
    match.origins.push_back(node == kNone32 ? 0 : static_cast<uint32_t>(pairing.origins.size()));
    if (node == kNone32) continue;
    pairing.origins.push_back({candidate.capture, candidate.graph->nodes[node].op,
                               candidate.graph->tokens, graph, match.disputed[i]});
  }
}

}  // namespace

GraphPairing PairGraphs(const Profile& profile, const LinkedProfile& linked,
                        const std::vector<std::unique_ptr<CaptureProfile>>& captures,
                        const Compatible& compatible) {
  GraphPairing pairing;
  PairingReport& report = pairing.report;
  Pairer pairer(profile, captures, compatible);
  ForEachGraph(profile, linked, [&](const std::vector<Node>& nodes) {
    ++report.graphs;
    Match& match = pairer.Find(nodes, StepTokens(linked, nodes));
    AddOrigins(nodes, match, pairing);
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].kernel == kNone32) continue;
      if (match.candidate == nullptr || match.nodes[i] == kNone32) {
        ++report.unpaired_nodes;
        report.unpaired_ns += profile.kernels[nodes[i].kernel].dur_ns;
        continue;
      }
      if (pairing.origin_of.empty()) pairing.origin_of.resize(profile.kernels.size());
      pairing.origin_of[nodes[i].kernel] = match.origins[i];
    }
    if (match.candidate == nullptr) {
      ++report.unpaired;
    } else {
      ++(match.missing == 0 ? report.exact : report.aligned);
    }
  });
  return pairing;
}

}  // namespace roofmark::trace
