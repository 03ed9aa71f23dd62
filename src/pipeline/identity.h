// SPDX-License-Identifier: Apache-2.0
// Which machine judged: kept with each run, so that a reader of a store sees whether two verdicts
// can be compared. Nothing here is guessed: what a machine does not tell is null, with a reason
// where there is one.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "device/device.h"
#include "store/store.h"

namespace roofmark::pipeline {

// {"id", "cpu": {"model", "microcode", "kernel"}, "gpu": {"uuid", "driver", "power_limit_w", ...}
// or null, "compilers": {"g++", "nvcc", "python", "torch", "triton"}}. Reads NVML and asks
// compilers for their versions, which takes some tens of milliseconds.
Json DescribeMachine(const device::DeviceInfo& info);

// Eight hexadecimal digits: equal for equal hardware under an equal driver. Of a GPU by UUID and
// driver; of a CPU by model, microcode and kernel. Requires: a description by DescribeMachine.
std::string MachineId(const Json& description, DeviceKind kind);

// What a reader has to know where verdicts are of several machines, "these verdicts are of 2
// machines: 1a2b3c4d (runs 1, 2), unknown (run 3); ..."; empty where they are of one. Runs of an
// older Roofmark do not say where they were made.
std::string MixedMachines(const std::vector<store::RunInfo>& runs, const std::set<int64_t>& judged);
Result<std::string> MixedMachines(const store::Store& store,
                                  const std::vector<store::StoredVerdict>& verdicts);

}  // namespace roofmark::pipeline
