// SPDX-License-Identifier: Apache-2.0
// What must hold of whatever a reader makes of whatever bytes: the fuzzers' oracle.
#pragma once

#include "base/check.h"
#include "trace/exposed.h"
#include "trace/links.h"
#include "trace/op_ids.h"
#include "trace/profile.h"
#include "trace/totals.h"

namespace roofmark::trace {

// Aborts where an event is in no table and was not skipped, where exposed times do not add up to
// the union, or where rows point nowhere.
inline void CheckProfile(const Profile& profile) {
  CHECK(profile.events == profile.skipped + profile.kernels.size() + profile.copies.size() +
                              profile.calls.size() + profile.ops.size() +
                              profile.gpu_ranges.size());
  CHECK(profile.node_of.empty() || profile.node_of.size() == profile.kernels.size());
  CHECK(profile.record_ids.size() <= profile.ops.size());
  const CallFinder calls(profile);
  const Exposure exposure = ComputeExposure(profile.kernels);
  const IdIndex ops = OpsByExternalId(profile);
  Totals totals = ComputeTotals(profile, calls, ops);
  AddExposure(exposure, totals);
  CHECK(totals.union_ns >= 0 && totals.union_ns <= totals.sum_kernel_ns);
  int64_t exposed = 0;
  for (const int64_t part : exposure.exposed_ns) exposed += part;
  CHECK(exposed == totals.union_ns);
  const OpForest forest(profile);
  const LinkedProfile linked = LinkKernels(profile, calls, forest, ops, totals);
  CHECK(linked.links.size() == profile.kernels.size());
  CHECK(ContentHash(profile).size() == 64);
}

}  // namespace roofmark::trace
