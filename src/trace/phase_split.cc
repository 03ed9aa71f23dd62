// SPDX-License-Identifier: Apache-2.0
#include "trace/phase_split.h"

namespace roofmark::trace {

std::optional<PhaseWeights> WeightsOf(const StepLabel& label, WorkUnit unit) {
  if (label.phase != Phase::kMixed) return std::nullopt;
  PhaseWeights weights;
  switch (unit) {
    case WorkUnit::kTokens:
      weights = {label.context.tokens, label.generation.tokens};
      break;
    case WorkUnit::kSequences:
      weights = {label.context.sequences, label.generation.sequences};
      break;
    case WorkUnit::kScores:
      if (!label.Detailed()) return std::nullopt;
      weights = {label.context.tokens_keys - label.context.tokens_squared / 2,
                 label.generation.tokens_keys};
      break;
  }
  // A label that names one phase only, or contradicts itself, shares nothing.
  if (weights.prefill <= 0 || weights.decode <= 0) return std::nullopt;
  if (weights.prefill > INT64_MAX / 2 || weights.decode > INT64_MAX / 2) return std::nullopt;
  return weights;
}

int64_t PartOf(int64_t ns, int64_t part, int64_t whole) {
  __extension__ using Wide = __int128;
  return static_cast<int64_t>(static_cast<Wide>(ns) * part / whole);
}

}  // namespace roofmark::trace
