// SPDX-License-Identifier: Apache-2.0
// Gives every kernel's time to an operator with its shape and phase, or says that nothing claims
// it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/shape.h"
#include "trace/capture.h"
#include "trace/graph_pairing.h"
#include "trace/links.h"
#include "trace/profile.h"
#include "trace/recipe.h"
#include "trace/rules.h"
#include "trace/shape_from.h"

namespace roofmark::trace {

// A mixed step's other phase, which has a part of each launch of the claim.
struct ClaimSplit {
  uint32_t other = kNone32;  // its claim
  int64_t part = 0;          // its weight, of
  int64_t whole = 1;
};

// What some kernels of a profile have been attributed to.
struct Claim {
  std::string op;                             // empty: unattributed
  Axes axes;                                  // empty where the shape is unknown
  std::map<std::string, std::string> dtypes;  // element types by tensor of the card
  Phase phase = Phase::kUnknown;
  // Launches, calls and measures count here; time is shared (PartOf in phase_split.h). Here is the
  // phase with more of it. The time of a call stays known in both (AggregateCell::elsewhere_ns).
  std::optional<ClaimSplit> split;
  // Of one call, as the step's label states them: "true.AXIS" where a graph was padded to the axis;
  // of attention "q", "k", "qq" and "qk" (sums over the sequences).
  std::map<std::string, int64_t> measures;
};

// Why some launches of a kernel were claimed as they were, for a person.
struct Explanation {
  std::vector<std::string> lines;
  ShapeFrom shape_from = ShapeFrom::kNothing;
  uint64_t launches = 0;
  int64_t sum_ns = 0;
};

struct Attribution {
  std::vector<Claim> claims;
  std::vector<uint32_t> claim_of;  // by kernel: index in claims
  // By kernel: the operator call that it belongs to (equal for all kernels of a call), kNone32
  // where the call is unknown.
  std::vector<uint32_t> call_of;
  std::vector<bool> auxiliary;  // by kernel: not the main kernel of its operator
  PairingReport pairing;
  ShapeTimes shape_times{};               // kernels' durations by where their shapes are from
  std::vector<Explanation> explanations;  // of the kernels that were asked about, longest first
};

struct AttributionOptions {
  Phase file_phase = Phase::kUnknown;  // that the profile's name states, where there is no label
  // Sizes that are known of the model; where operators of the profile tell other ones, those win.
  Facts facts;
  // What to explain: a part of the names of kernels, or an operator of ours; empty = nothing.
  std::string explain;
  // Which operators got their sizes from an execution trace; nullptr: none.
  const TracedOps* traced = nullptr;
};

Attribution Attribute(const Profile& profile, const LinkedProfile& linked, const OpForest& forest,
                      const std::vector<std::unique_ptr<CaptureProfile>>& captures,
                      const Rules& rules, const AttributionOptions& options);

}  // namespace roofmark::trace
