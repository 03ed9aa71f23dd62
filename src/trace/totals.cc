// SPDX-License-Identifier: Apache-2.0
// One pass over the kernels, with the two indexes that their columns need.
#include "trace/totals.h"

#include <vector>

#include "trace/op_ids.h"

namespace roofmark::trace {
namespace {

// Distinct names, and correlation ids that several kernels share.
void CountDistinct(const Profile& profile, Totals& totals) {
  std::vector<bool> seen(profile.text.size());
  uint64_t without = 0;
  for (const Launch kernel : profile.kernels) {
    if (!seen[kernel.name]) {
      seen[kernel.name] = true;
      ++totals.names;
    }
    if (kernel.correlation == kNoId) ++without;
  }
  const IdIndex by_correlation(profile.kernels.size(),
                               [&](uint32_t row) { return profile.kernels[row].correlation; });
  // Those without an id share that.
  totals.corr_ids_with_many_kernels = by_correlation.shared() + (without > 1 ? 1 : 0);
}

}  // namespace

Totals ComputeTotals(const Profile& profile) {
  Totals totals = ComputeTotals(profile, CallFinder(profile), OpsByExternalId(profile));
  AddExposure(ComputeExposure(profile.kernels), totals);
  return totals;
}

void AddExposure(const Exposure& exposure, Totals& totals) {
  totals.union_ns = exposure.union_ns;
  totals.devices = exposure.devices;
}

Totals ComputeTotals(const Profile& profile, const CallFinder& calls, const IdIndex& ops) {
  Totals totals{.events = profile.events,
                .kernels = profile.kernels.size(),
                .python_events = profile.python_events,
                .user_annotations = profile.user_annotations,
                .neg_dur = profile.loss.negative_dur};
  for (const Launch copy : profile.copies) {
    if (copy.kind != LaunchKind::kCopy) continue;
    ++totals.memcpy;
    totals.memcpy_ns += copy.dur_ns;
  }
  CountDistinct(profile, totals);
  for (uint32_t row = 0; row < profile.kernels.size(); ++row) {
    const Launch kernel = profile.kernels[row];
    totals.sum_kernel_ns += kernel.dur_ns;
    const uint32_t call = calls.Find(kernel);
    const bool node = !profile.node_of.empty() && profile.node_of[row] != kNone32;
    if (call == kNone32) ++totals.kernels_no_runtime;
    if (node || (call != kNone32 && calls.IsGraphLaunch(call))) {
      ++totals.graph_kernels;
      totals.graph_ns += kernel.dur_ns;
    }
    if (kernel.external_id == kNoId) continue;
    if (kernel.external_id == kernel.correlation) ++totals.kernels_extid_eq_corr;
    const uint32_t op = ops.First(kernel.external_id);
    if (op == kNone32) continue;
    ++totals.kernels_extid_op;
    if (!HasDims(profile.ops[op].arguments, profile.text)) continue;
    ++totals.kernels_extid_op_shaped;
    totals.shaped_ns += kernel.dur_ns;
  }
  return totals;
}

// Source: of the public profiles from 2022 to early 2024, each has 100 % equal ids; of the later
// ones, none has more than 10 %.
bool ExternalIdsAreReal(const Totals& totals) {
  return totals.kernels_extid_eq_corr * 10 < totals.kernels * 9;
}

}  // namespace roofmark::trace
