// SPDX-License-Identifier: Apache-2.0
// How the time of a launch in a mixed step is shared between prefill and decode. The kernels of
// such a step work on both kinds of sequences at once; the step's label says how much of each there
// was.
#pragma once

#include <cstdint>
#include <optional>

#include "trace/step_label.h"

namespace roofmark::trace {

// What the work of an operator is proportional to.
enum class WorkUnit {
  kTokens,     // each token alike: products, norms, activations, caches
  kSequences,  // one row a sequence: sampling
  kScores,     // pairs of a query and a key that it sees: attention
};

// Whole weights of both phases; a phase without work has weight 0.
struct PhaseWeights {
  int64_t prefill = 0;
  int64_t decode = 0;
  bool operator==(const PhaseWeights&) const = default;
};

// Nothing where the label does not say it (attention without sums; SGLang's MIXED, which does not
// say which tokens are whose). Scores of causal, chunked prefill: sum of q*k less half the sum of
// q*q (a chunk's own triangle); of decode: sum of q*k. Source: the score pairs that a causal mask
// leaves, for a chunk of q queries that ends at context k: q*k - q*(q-1)/2.
std::optional<PhaseWeights> WeightsOf(const StepLabel& label, WorkUnit unit);

// The part of `ns` that goes to the phase with weight `part` of `whole`, rounded down; the other
// phase gets the rest, so that both add up. Requires: 0 <= part <= whole, whole > 0, ns >= 0.
int64_t PartOf(int64_t ns, int64_t part, int64_t whole);

}  // namespace roofmark::trace
