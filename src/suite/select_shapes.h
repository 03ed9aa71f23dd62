// SPDX-License-Identifier: Apache-2.0
// Which of a fleet's workloads a suite of n shapes holds, so that a score over them estimates the
// score over all of them without bias. A plain top-n would speak for the large shapes alone.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "suite/attained_spread.h"
#include "suite/mined_workload.h"

namespace roofmark::suite {

struct SelectOptions {
  size_t shapes = 0;      // 0: all of them, each for itself
  double coverage = 0.9;  // of each operator and phase, in the certainty stratum
  uint64_t seed = 1;      // of the tail's draw
  // Earlier rounds, for Neyman's allocation; those on shapes of other fleets say nothing.
  std::vector<Attained> attained;
};

// certain: in the suite for sure, for itself. tail: drawn; stands for its stratum. robustness: an
// extreme load of an operator, kept for correctness, without weight.
enum class SelectedAs { kCertain, kTail, kRobustness };
std::string_view SelectedAsName(SelectedAs as);

struct SelectedShape {
  size_t workload = 0;  // index in what was selected from
  SelectedAs as = SelectedAs::kCertain;
  double probability = 1;  // with which the design takes it
  double weight = 0;       // share / probability; 0 for robustness
  std::string stratum;     // of the tail: "rms_norm/decode/2^5/memory", or "rest"
};

// A stratum of the tail as it was drawn from.
struct StratumPlan {
  std::string name;
  double share = 0;
  size_t members = 0;
  size_t draws = 0;
  double deviation = 1;           // of attainment, that draws were allotted by
  std::string_view deviation_of;  // what it was measured on; see AttainedSpread::Deviation
};

struct SelectedShapes {
  std::vector<SelectedShape> shapes;
  std::vector<StratumPlan> strata;
};

// Weights of what is selected add up in expectation to the shares of all workloads, operator by
// operator; `workloads` come largest share first.
// 1. Certainty: of each operator and phase its largest workloads until `coverage` of their share,
//    and two in any case. Where this leaves less than a tenth of the shapes to the tail, the
//    smallest of them are left to it, first those beyond two of an operator and phase.
// 2. Tail: what is left, in strata of operator, phase, power of two of the load, and what binds it.
//    Each stratum of at least 0.1 % of the fleet gets one draw, largest first, the others are one
//    stratum "rest"; further draws by Neyman: where share times the deviation of attainment is
//    largest, and by share alone where no earlier round tells. Within a stratum: systematic
//    sampling with probability proportional to share (probability 1 where that would be over 1).
//    Sources: Saerndal, Swensson, Wretman, Model Assisted Survey Sampling (1992), sections 3.6 and
//    3.7.3; Wright, "The equivalence of Neyman optimum allocation for sampling and equal
//    proportions", The American Statistician 66 (2012), for whole numbers of draws.
// 3. Robustness: the least and the largest load of each operator, where they are not among these;
//    they come on top of `shapes`.
SelectedShapes SelectShapes(std::span<const MinedWorkload> workloads, const SelectOptions& options);

}  // namespace roofmark::suite
