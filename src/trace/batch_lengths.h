// SPDX-License-Identifier: Apache-2.0
// Query and context lengths of a step's sequences, rebuilt from the sums that its label states. The
// lengths themselves are not in a profile; lists with the same sums cost the same arithmetic and
// traffic.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/step_label.h"

namespace roofmark::trace {

struct BatchLengths {
  std::vector<int64_t> q_lens;   // context sequences first, longest first; then generation
  std::vector<int64_t> kv_lens;  // kv_len >= q_len
  bool operator==(const BatchLengths&) const = default;
};

// Guarantees: the numbers of sequences, the sums of q and of k are the label's; the sums of q*q and
// q*k of the context part are met as closely as whole, positive lengths allow. `max_q` and `max_k`,
// where known (> 0), are the longest lengths of the step.
// Nothing where the label lacks sums, contradicts itself, or has more than 2^20 sequences.
std::optional<BatchLengths> RebuildLengths(const StepLabel& label, int64_t max_q, int64_t max_k);

}  // namespace roofmark::trace
