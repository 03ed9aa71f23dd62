// SPDX-License-Identifier: Apache-2.0
// What is looked at after a call, in the order in which a fault explains the next: guards, inputs,
// repeated answers, then the values.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gate/contestant.h"
#include "gate/session.h"

namespace roofmark::gate {

struct CheckOptions {
  std::filesystem::path dump_dir;  // where a failed check leaves its tensors; empty = nowhere
};

// Outputs that a contestant has returned for other inputs, to recognise a repeated answer.
using SeenOutputs = std::set<std::vector<uint64_t>>;

// Poisons the contestant's outputs of this slot; those that are updated in place get the slot's
// input of their name.
Result<void> PrepareSlot(Session& session, Contestant& contestant, size_t slot);

// The outcome that a comparison means, with what was seen; nothing when it is within the tolerance.
std::optional<std::pair<Outcome, std::string>> FaultIn(const device::Comparison& found,
                                                       const Tensor& tensor);

// Guards and inputs after a call. False (with the verdict written) when one was touched.
Result<bool> CheckUntouched(Session& session, Contestant& contestant, size_t slot, Gate gate);

// Guards, inputs and repeated answers. False (with the verdict written) when one of them is bad.
Result<bool> CheckSafety(Session& session, Contestant& contestant, size_t slot, Gate gate,
                         SeenOutputs* seen);
// One output against the expected one, by the card's tolerance.
Result<device::Comparison> CompareOutput(device::Device& device, device::Arena& got,
                                         device::Arena& want, size_t place,
                                         const Tolerance& tolerance);
// Compares all outputs with session.want(), which must hold this slot's expected outputs.
Result<bool> CheckValues(Session& session, Contestant& contestant, size_t slot, Gate gate,
                         const CheckOptions& options);

}  // namespace roofmark::gate
