// SPDX-License-Identifier: Apache-2.0
// A release (pipeline/release.h) as a suite: what it weighs, with the operators that are here.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "suite/suite.h"

namespace roofmark::suite {

// The format of hidden/weights.json. Version 1 knew the mean deployed time over the calls of all
// devices and nothing of single ones; it is read, and that mean then stands for every device. It
// knew nothing of draws either.
inline constexpr std::string_view kWeightsFormat = "roofmark-weights/2";
inline constexpr std::string_view kWeightsFormat1 = "roofmark-weights/1";

// Reads hidden/weights.json and hidden/workloads.jsonl of a release. Workloads are those of the
// release that are selected. Errors: kNotFound where the hidden part or a card is not here; kInput
// for another format, and where a shape of the card here is another one than the release's.
Result<Suite> LoadReleasedSuite(const std::filesystem::path& folder, const Selection& selection);

}  // namespace roofmark::suite
