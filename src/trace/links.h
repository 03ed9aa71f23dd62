// SPDX-License-Identifier: Apache-2.0
// From each kernel to the operator that launched it and to the step that it belongs to.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "trace/calls.h"
#include "trace/id_index.h"
#include "trace/op_forest.h"
#include "trace/profile.h"
#include "trace/rows.h"
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
  bool operator==(const Link&) const = default;
};

// The link of each kernel. What kernels of one call have in common stands once.
class Links {
 public:
  void push_back(const Link& link) {
    uint32_t& recent = recent_[link.call % recent_.size()];
    if (recent >= links_.size() || links_[recent] != link) {
      recent = static_cast<uint32_t>(links_.size());
      links_.push_back(link);
    }
    of_.push_back(recent);
  }
  size_t size() const { return of_.size(); }
  const Link& operator[](size_t kernel) const { return links_[of_[kernel]]; }

 private:
  Rows<Link> links_;
  Rows<uint32_t> of_;                     // by kernel
  std::array<uint32_t, 64> recent_ = {};  // in links_, as kernels of streams take turns
};

struct LinkedProfile {
  std::vector<StepLabel> labels;
  Links links;
  // Copies and fills that are nodes of graphs: the call (a row in profile.calls), and the row in
  // profile.copies; by call, then by row.
  std::vector<std::pair<uint32_t, uint32_t>> graph_copies;
};

// `ops` are the operators by External id (op_ids.h). A graph node's operator and shape are not in
// this profile, unless it records the creation of nodes and began before the capture:
// graph_pairing.h finds the others. Identifiers of launches are not needed afterwards.
LinkedProfile LinkKernels(const Profile& profile, const CallFinder& calls, const OpForest& forest,
                          const IdIndex& ops, const Totals& totals);

}  // namespace roofmark::trace
