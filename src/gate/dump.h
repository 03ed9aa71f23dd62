// SPDX-License-Identifier: Apache-2.0
// Leaves the tensors of a failed check as one safetensors file, for whoever is writing the kernel:
// inputs as "in.<name>", the candidate's outputs as "got.<name>", expected ones as "want.<name>".
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "gate/contestant.h"
#include "gate/session.h"

namespace roofmark::gate {

// Returns the file's path. Requires: session.want() holds the slot's expected outputs.
Result<std::string> DumpSlot(Session& session, Contestant& contestant, size_t slot,
                             const std::filesystem::path& folder);

}  // namespace roofmark::gate
