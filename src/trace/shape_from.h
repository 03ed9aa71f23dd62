// SPDX-License-Identifier: Apache-2.0
// Where the sizes of a launch were recorded, and what found them there. Only some are a fact of the
// launch itself; the others are what an execution trace, a capture or an eager run has at the place
// that fits (docs/decisions/018), and say so.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "trace/execution_trace.h"
#include "trace/graph_pairing.h"
#include "trace/links.h"

namespace roofmark::trace {

enum class ShapeFrom : uint8_t {
  kNothing,         // the shape is not known
  kProfile,         // the operator around the launch, in the profile itself
  kNodeCreation,    // the operator around the creation of the graph's node, in the profile itself
  kTraceById,       // an execution trace, by the operator's number
  kTraceByNames,    // an execution trace, by a sequence of operators' names
  kCaptureByNames,  // the capture of the graph, by an equal sequence of kernels' names
  kCaptureAligned,  // the capture of the graph, by the longest common sequence of names
  kCaptureByOrder,  // the capture of the graph, by an equal number of nodes (CUDA)
  kEagerByNames,    // an eager run of the model, by an equal sequence of kernels' names
  kEagerAligned,    // an eager run of the model, by the longest common sequence of names
};
inline constexpr size_t kShapeFromCount = 10;

// "profile", "node_creation", "trace_by_id", ...; empty for kNothing.
std::string_view ShapeFromName(ShapeFrom from);

// What is known of how a launch found the operator that gives its shape.
struct ShapeEvidence {
  bool shaped = false;
  LinkKind link = LinkKind::kNone;
  const CapturedOrigin* origin = nullptr;  // nullptr: no captured graph
  const PairedGraph* graph = nullptr;      // of the origin
  std::string_view capture;                // name of its file
  const TracedFrom* traced = nullptr;      // nullptr: no execution trace
  std::string_view trace;                  // name of its file
};

ShapeFrom FindShapeFrom(const ShapeEvidence& evidence);

// The same as a sentence for a person: "capture x_capture.json.gz (32 tokens, FULL): 57 nodes on
// both sides, by order". Empty for kNothing.
std::string DescribeShapeFrom(const ShapeEvidence& evidence);

// Kernels' time by where their shapes are from, ns.
using ShapeTimes = std::array<int64_t, kShapeFromCount>;

}  // namespace roofmark::trace
