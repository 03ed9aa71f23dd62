// SPDX-License-Identifier: Apache-2.0
// Comparing one output with what it should be, in memory that the judge can address. Every element
// is compared; nothing is sampled.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "device/device.h"
#include "model/dtype.h"
#include "model/operator.h"

namespace roofmark::device {

struct Payloads {
  DType dtype = DType::kF32;
  int64_t elements = 0;
  const std::byte* got = nullptr;
  const std::byte* want = nullptr;
};

// What a ratio is where the tolerance allows nothing: large, but finite, so that it prints as JSON.
inline constexpr double kHopeless = 1e300;

// Errors: kInput when `want` is not finite (a fault of the reference) or the kind of comparison
// does not fit the dtype.
Result<Comparison> ComparePayloads(const Payloads& payloads, const Tolerance& tolerance);

}  // namespace roofmark::device
