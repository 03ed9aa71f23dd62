// SPDX-License-Identifier: Apache-2.0
// A mined suite for a person: what it speaks for, what is outside and why, and how it was drawn.
#pragma once

#include "base/json.h"
#include "base/result.h"

namespace roofmark::cli {

// The document that `suite build` wrote, as tables on stdout. Errors: kInput for one that lacks
// something, as those of older versions do.
Result<void> PrintMinedSuite(const Json& suite);

// Its workloads, largest weight first.
Result<void> PrintMinedWorkloads(const Json& suite);

}  // namespace roofmark::cli
