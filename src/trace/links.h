// SPDX-License-Identifier: Apache-2.0
// From each kernel to the operator that launched it and to the step that it belongs to.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/calls.h"
#include "trace/id_index.h"
#include "trace/op_forest.h"
#include "trace/profile.h"
#include "trace/step_label.h"
#include "trace/totals.h"

namespace roofmark::trace {

enum class LinkKind {
  kNone,         // nothing known: no runtime call, no trusted External id
  kContainment,  // the innermost operator around the launching call
  kExternalId,   // the operator that the kernel names, and that held the call
  kGraph,        // a node of a graph; the operator is that around the graph's launch
  kGraphNode,    // a node whose creation is recorded; the operator is that around the creation
};

struct Link {
  LinkKind kind = LinkKind::kNone;
  uint32_t call = kNone32;   // row in profile.calls
  uint32_t op = kNone32;     // row in profile.ops
  uint32_t label = kNone32;  // in LinkedProfile::labels
};

struct LinkedProfile {
  std::vector<StepLabel> labels;
  std::vector<Link> links;  // by kernel
};

// `ops` are the operators by External id (op_ids.h). A graph node's operator and shape are not in
// this profile, unless it records the creation of nodes and began before the capture:
// graph_pairing.h finds the others.
LinkedProfile LinkKernels(const Profile& profile, const CallFinder& calls, const OpForest& forest,
                          const IdIndex& ops, const Totals& totals);

}  // namespace roofmark::trace
