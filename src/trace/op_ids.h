// SPDX-License-Identifier: Apache-2.0
// From External ids to operators.
#pragma once

#include <algorithm>

#include "trace/id_index.h"
#include "trace/profile.h"

namespace roofmark::trace {

// Rows of profile.ops by External id; empty where no kernel has one. Annotations have ids too, and
// are left out.
inline IdIndex OpsByExternalId(const Profile& profile) {
  const auto named = [](const Launch& kernel) { return kernel.external_id != kNoId; };
  if (std::ranges::none_of(profile.kernels, named)) return {};
  return {profile.ops.size(), [&](uint32_t row) {
            const CpuOp& op = profile.ops[row];
            return op.annotation ? kNoId : op.external_id;
          }};
}

}  // namespace roofmark::trace
