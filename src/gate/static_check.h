// SPDX-License-Identifier: Apache-2.0
// What can be said of a candidate on a machine that cannot run its lane. A native one is compiled
// all the same; of a Python one the text is checked (it parses, its entry point takes the
// contract's names, it has kernels in its language), and it may compile itself for a device that it
// names.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "model/candidate.h"
#include "model/verdict.h"

namespace roofmark::gate {

// Whether candidates of the lane run on devices of this kind.
bool RunsOn(Lane lane, DeviceKind device);
// "a CUDA GPU (--device cuda)": where candidates of the lane run, for messages.
std::string_view PlaceOf(Lane lane);

struct StaticFinding {
  Outcome outcome = Outcome::kUnsupported;
  std::string reason;
};

// Checks a Python candidate in a sandboxed worker without a GPU. `folder` holds its sources, `load`
// is the request that would load it. A fault of the candidate is its outcome; else the outcome is
// kUnsupported and the reason says what was checked and where it would run. Errors: the machine's.
Result<StaticFinding> CheckText(Lane lane, DeviceKind device, const std::filesystem::path& folder,
                                const std::filesystem::path& scratch, Json load);

// The same sentence around what a native candidate's compilation showed.
std::string NotRun(Lane lane, DeviceKind device, std::string_view checked);

}  // namespace roofmark::gate
