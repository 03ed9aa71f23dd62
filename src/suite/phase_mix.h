// SPDX-License-Identifier: Apache-2.0
// Another mix of phases than the one that was recorded. The profiles know what is done in a phase;
// how much of each phase a fleet serves changes with its traffic, and is known without profiles.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/shape.h"
#include "suite/aggregate_weights.h"

namespace roofmark::suite {

// Of the time that these phases have together, the part of each; they add up to 1.
using PhaseMix = std::map<Phase, double>;

// "prefill=0.3,decode=0.7". Errors: kUsage where it does not read, names a phase twice or fewer
// than two, has a part that is not over 0, or does not add up to 1.
Result<PhaseMix> ParsePhaseMix(std::string_view text);

// A phase's share of the fleet's GPU time as mined and as weighed then.
struct ReweighedPhase {
  Phase phase = Phase::kUnknown;
  double mined = 0;
  double weighed = 0;
};

// w(c) = share of the phase x w(c | phase): each cell's time is multiplied by what its phase is
// asked to have over what it has. Phases that are not named keep their share, and so does the sum
// of all. Groups, applications and sampling units weigh what they then hold. Intervals take the
// factors for known, so they hold what profiles say of the mix too, and are rather too wide.
// Source: reference/profiles.md 6.2. Errors: kInput where the fleet has no time in a phase.
Result<std::vector<ReweighedPhase>> ReweighPhases(const PhaseMix& mix, FleetWeights& weights);

}  // namespace roofmark::suite
