// SPDX-License-Identifier: Apache-2.0
// A ghost replay: one call of a candidate whose kernels do nothing (hollow.h), in a fresh process,
// on fresh inputs. If its outputs are right all the same, something else computes them, whatever
// names, loaders and hashes say. A witness of its own: it asks the meter nothing.
//
// A candidate that notices that its kernels are hollow can return something wrong; the replay
// catches those that do not expect it, and mistakes of the other witnesses.
#pragma once

#include <string>

#include "base/result.h"
#include "gate/contestant.h"
#include "gate/session.h"

namespace roofmark::gate {

struct GhostReplay {
  std::string refuted;  // why the candidate's kernels are not what computes; empty = they are
  std::string level;    // how the call ended, or why there was no replay
};

// Whether its kernels are compiled by Triton, which leaves them in its cache in the scratch folder.
bool CompilesByTriton(Lane lane);

// Whether candidates of this lane can be replayed so on this device: it is known where their
// kernels' code lies.
bool HasGhost(Lane lane, DeviceKind device);

// Refills slot 0 of the session. Errors are the machine's.
Result<GhostReplay> ReplayAsGhost(Session& session, Contestant& contestant, double call_timeout_s);

}  // namespace roofmark::gate
