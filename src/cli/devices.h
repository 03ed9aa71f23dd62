// SPDX-License-Identifier: Apache-2.0
// Which devices a verb was asked to use: "cpu", "cuda" (all visible ones, or the first), or some of
// them by number: "cuda:0,cuda:1".
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/candidate.h"

namespace roofmark::cli {

struct NamedDevice {
  DeviceKind kind = DeviceKind::kCpu;
  // What CUDA_VISIBLE_DEVICES names it; empty = as it is (a CPU, or the first GPU).
  std::string visible;
};

// `visible` is the value of CUDA_VISIBLE_DEVICES, empty where it is not set; numbers count in it.
// `gpus` is how many GPUs the machine has. At least one device comes back. Errors: kUsage.
Result<std::vector<NamedDevice>> ParseDevices(const std::string& text, const std::string& visible,
                                              size_t gpus);

// The same for this machine and its environment.
Result<std::vector<NamedDevice>> DevicesOf(const std::string& text);

// Makes this process see the one device that `text` names (the first where it is "cuda").
Result<DeviceKind> UseDevice(const std::string& text);

}  // namespace roofmark::cli
