// SPDX-License-Identifier: Apache-2.0
// From External ids to operators.
#pragma once

#include <algorithm>

#include "trace/id_index.h"
#include "trace/profile.h"

namespace roofmark::trace {

// Rows of profile.ops by External id, of those ids that kernels have; annotations have ids too, and
// are left out.
inline IdIndex OpsByExternalId(const Profile& profile) {
  const auto named = [](const Launch& kernel) { return kernel.external_id != kNoId; };
  if (std::ranges::none_of(profile.kernels, named)) return IdIndex(0);
  IdIndex wanted(profile.kernels.size());
  for (uint32_t row = 0; row < profile.kernels.size(); ++row) {
    wanted.Add(profile.kernels[row].external_id, row);
  }
  IdIndex index(profile.ops.size(), profile.kernels.size());
  for (uint32_t row = 0; row < profile.ops.size(); ++row) {
    const CpuOp& op = profile.ops[row];
    if (op.annotation || op.external_id == kNoId) continue;
    if (wanted.First(op.external_id) != kNone32) index.Add(op.external_id, row);
  }
  return index;
}

}  // namespace roofmark::trace
