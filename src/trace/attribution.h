// SPDX-License-Identifier: Apache-2.0
// Gives every kernel's time to an operator with its shape and phase, or says that nothing claims
// it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/shape.h"
#include "trace/capture.h"
#include "trace/graph_pairing.h"
#include "trace/links.h"
#include "trace/profile.h"
#include "trace/rules.h"

namespace roofmark::trace {

// What some kernels of a profile have been attributed to.
struct Claim {
  std::string op;                             // empty: unattributed
  Axes axes;                                  // empty where the shape is unknown
  std::map<std::string, std::string> dtypes;  // element types by tensor of the card
  Phase phase = Phase::kUnknown;
};

struct Attribution {
  std::vector<Claim> claims;
  std::vector<uint32_t> claim_of;  // by kernel: index in claims
  // By kernel: the operator call that it belongs to (equal for all kernels of a call), kNone32
  // where the call is unknown.
  std::vector<uint32_t> call_of;
  std::vector<bool> auxiliary;  // by kernel: not the main kernel of its operator
  PairingReport pairing;
};

// `file_phase` is the phase that the profile's name states, for kernels that have no label.
Attribution Attribute(const Profile& profile, const LinkedProfile& linked, const OpForest& forest,
                      const std::vector<std::unique_ptr<CaptureProfile>>& captures,
                      const Rules& rules, Phase file_phase);

}  // namespace roofmark::trace
