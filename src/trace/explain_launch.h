// SPDX-License-Identifier: Apache-2.0
// What `mine --explain` prints of a launch: how it was launched, the operators around it and the
// rules that speak, what decided, the shape with its source, the phase.
#pragma once

#include <string>
#include <vector>

#include "trace/attribution.h"
#include "trace/decision.h"
#include "trace/shape_from.h"

namespace roofmark::trace {

// A launch as attribution has decided about it. All is borrowed.
struct DecidedLaunch {
  const Profile* profile = nullptr;
  const Launch* launch = nullptr;
  const Link* link = nullptr;
  const StepLabel* label = nullptr;  // nullptr: none
  const KernelRule* kernel = nullptr;
  Place* place = nullptr;  // of the operator: the profile, or a capture
  uint32_t op = kNone32;   // the innermost around the launch
  const Decision* decision = nullptr;
  const Claim* claim = nullptr;
  const Claim* other = nullptr;  // of a mixed step's other phase
  Phase phase = Phase::kUnknown;
  Phase file_phase = Phase::kUnknown;
  ShapeEvidence shape;
  const Facts* facts = nullptr;   // of the model
  const Facts* stated = nullptr;  // those of them that the manifest's config states
};

std::vector<std::string> ExplainLaunch(const DecidedLaunch& launch);

}  // namespace roofmark::trace
