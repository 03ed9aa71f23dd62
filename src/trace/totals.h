// SPDX-License-Identifier: Apache-2.0
// The exact integer totals of a profile, by which any two readers can be compared.
#pragma once

#include <cstdint>

#include "trace/calls.h"
#include "trace/exposed.h"
#include "trace/id_index.h"
#include "trace/profile.h"

namespace roofmark::trace {

struct Totals {
  uint64_t events = 0;
  uint64_t kernels = 0;
  uint64_t names = 0;  // distinct kernel names
  int64_t sum_kernel_ns = 0;
  int64_t union_ns = 0;  // time in which at least one kernel ran, per device, summed over devices
  uint64_t devices = 0;  // that ran kernels
  uint64_t memcpy = 0;
  int64_t memcpy_ns = 0;
  uint64_t python_events = 0;
  uint64_t kernels_no_runtime = 0;  // whose correlation no runtime call has
  uint64_t graph_kernels = 0;       // launched as nodes of a graph
  int64_t graph_ns = 0;
  uint64_t kernels_extid_op = 0;  // whose External id is that of an operator
  uint64_t kernels_extid_op_shaped = 0;
  int64_t shaped_ns = 0;
  uint64_t kernels_extid_eq_corr = 0;  // near all in files before 2024: External id means nothing
  uint64_t user_annotations = 0;
  uint64_t neg_dur = 0;
  uint64_t corr_ids_with_many_kernels = 0;
};

Totals ComputeTotals(const Profile& profile);
// The same with what has been made already, and without union_ns and devices, which the exposure of
// the kernels adds.
Totals ComputeTotals(const Profile& profile, const CallFinder& calls, const IdIndex& ops);
void AddExposure(const Exposure& exposure, Totals& totals);

// Whether External id names operators here: in old profiles it repeats the correlation id.
bool ExternalIdsAreReal(const Totals& totals);

}  // namespace roofmark::trace
