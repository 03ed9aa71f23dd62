// SPDX-License-Identifier: Apache-2.0
// What a profile lacks for mining, and how to record one that has it (docs/collect-profiles.md).
#pragma once

#include <string>
#include <vector>

#include "trace/attribution.h"
#include "trace/links.h"
#include "trace/profile.h"
#include "trace/totals.h"

namespace roofmark::trace {

enum class Weight {
  kUnusable,  // nothing can be mined
  kLacks,     // time without operator, shape or phase, or lost
  kNote,      // costs something, or limits what can be said
};
std::string_view WeightName(Weight weight);  // "unusable" "lacks" "note"

struct Finding {
  Weight weight = Weight::kNote;
  std::string id;       // one word, stable: "shapes", "graphs", ...
  std::string what;     // with numbers
  std::string way_out;  // what to do when recording; empty where nothing helps
};

// The share of time without an operator above which a profile is alarming. Source:
// reference/profiles.md 2.2, "a hard alarm (say 2 %)".
inline constexpr double kUnmappedAlarm = 0.02;

// Worst first. `unattributed_ns` and `busy_ns` are exposed time; `unknown_phase_ns` of it has no
// phase.
std::vector<Finding> CheckForMining(const Profile& profile, const Totals& totals,
                                    const LinkedProfile& linked, const Attribution& attribution,
                                    int64_t unattributed_ns, int64_t unknown_phase_ns);

}  // namespace roofmark::trace
