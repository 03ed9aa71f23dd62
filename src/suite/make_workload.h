// SPDX-License-Identifier: Apache-2.0
// From a contract and a shape to everything that follows from them: derived axes, tensor sizes,
// work W per engine and traffic Q. docs/method.md explains the formulas; the cards hold them.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "model/workload.h"

namespace roofmark::suite {

// `op` is borrowed and must outlive the workload. The weight is left at zero; Suite sets it.
// Guarantees: sizes are exact and at least 0, no tensor is over 2^53 bytes, W and Q are finite and
// at least 0.
// Errors: kInput with operator, shape and formula.
Result<Workload> MakeWorkload(const Operator& op, const Shape& shape);

// W by released dtype key and Q as the public benchmark's formulas give them for this workload, to
// be compared with what it released. Errors: kInput where the card has no published formulas.
Result<Published> ComputePublished(const Workload& workload);

}  // namespace roofmark::suite
