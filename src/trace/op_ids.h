// SPDX-License-Identifier: Apache-2.0
// From External ids to operators.
#pragma once

#include "trace/id_index.h"
#include "trace/profile.h"

namespace roofmark::trace {

// Rows of profile.ops by External id; annotations have ids too, and are left out.
inline IdIndex OpsByExternalId(const Profile& profile) {
  IdIndex index(profile.ops.size());
  for (uint32_t row = 0; row < profile.ops.size(); ++row) {
    const CpuOp& op = profile.ops[row];
    if (!op.annotation && op.external_id != kNoId) index.Add(op.external_id, row);
  }
  return index;
}

}  // namespace roofmark::trace
