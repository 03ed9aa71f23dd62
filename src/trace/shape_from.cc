// SPDX-License-Identifier: Apache-2.0
#include "trace/shape_from.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace roofmark::trace {
namespace {

constexpr std::array<std::string_view, kShapeFromCount> kNames = {"",
                                                                  "profile",
                                                                  "node_creation",
                                                                  "trace_by_id",
                                                                  "trace_by_names",
                                                                  "capture_by_names",
                                                                  "capture_aligned",
                                                                  "capture_by_order",
                                                                  "eager_by_names",
                                                                  "eager_aligned"};

ShapeFrom FromGraph(const PairedGraph& graph) {
  switch (graph.by) {
    case PairedBy::kNames:
      return graph.eager ? ShapeFrom::kEagerByNames : ShapeFrom::kCaptureByNames;
    case PairedBy::kCommonNames:
      return graph.eager ? ShapeFrom::kEagerAligned : ShapeFrom::kCaptureAligned;
    case PairedBy::kOrder:
      break;
  }
  return ShapeFrom::kCaptureByOrder;
}

// "capture x.json.gz (32 tokens, FULL)"
std::string NameOfGraph(const ShapeEvidence& evidence) {
  const PairedGraph& graph = *evidence.graph;
  std::string size = evidence.origin->tokens < 0
                         ? "size not said"
                         : fmt::format("{} tokens", evidence.origin->tokens);
  if (!graph.mode.empty() && !graph.eager) size += ", " + graph.mode;
  return fmt::format("{} {} ({})", graph.eager ? "eager run" : "capture",
                     ValidUtf8(evidence.capture), size);
}

std::string HowPaired(const PairedGraph& graph) {
  switch (graph.by) {
    case PairedBy::kNames:
      return fmt::format("its {} kernels have the same names in the same order", graph.nodes);
    case PairedBy::kCommonNames:
      return fmt::format("{} of {} kernels have the same names in the same order",
                         graph.nodes - std::min(graph.nodes, graph.missing), graph.nodes);
    case PairedBy::kOrder:
      break;
  }
  return fmt::format(
      "by order, since CUDA records no names at capture: {} kernels on both sides, {} of them "
      "contradicted by the rules",
      graph.nodes, graph.contradicted);
}

std::string DescribeGraph(const ShapeEvidence& evidence) {
  std::string text = NameOfGraph(evidence) + ": " + HowPaired(*evidence.graph);
  if (evidence.graph->fits > 1) {
    text += fmt::format("; {} captured graphs fit and agree on this size", evidence.graph->fits);
  }
  return text;
}

}  // namespace

std::string_view ShapeFromName(ShapeFrom from) {
  return kNames[static_cast<size_t>(from)];
}

ShapeFrom FindShapeFrom(const ShapeEvidence& evidence) {
  if (!evidence.shaped) return ShapeFrom::kNothing;
  if (evidence.graph != nullptr) return FromGraph(*evidence.graph);
  if (evidence.traced != nullptr) {
    return evidence.traced->run == 0 ? ShapeFrom::kTraceById : ShapeFrom::kTraceByNames;
  }
  return evidence.link == LinkKind::kGraphNode ? ShapeFrom::kNodeCreation : ShapeFrom::kProfile;
}

std::string DescribeShapeFrom(const ShapeEvidence& evidence) {
  switch (FindShapeFrom(evidence)) {
    case ShapeFrom::kNothing:
      return "";
    case ShapeFrom::kProfile:
      return "this profile, the operator around the launch";
    case ShapeFrom::kNodeCreation:
      return "this profile, the operator around the creation of the graph's node";
    case ShapeFrom::kTraceById:
      return fmt::format("execution trace {}, the operator of the same number and name",
                         ValidUtf8(evidence.trace));
    case ShapeFrom::kTraceByNames:
      return fmt::format(
          "execution trace {}: a run of {} operators has the same names in the same order there, "
          "at {}",
          ValidUtf8(evidence.trace), evidence.traced->run,
          evidence.traced->places == 1
              ? "one place"
              : fmt::format("{} places that agree on this size", evidence.traced->places));
    default:
      return DescribeGraph(evidence);
  }
}

}  // namespace roofmark::trace
