// SPDX-License-Identifier: Apache-2.0
// An operator's contract in the words of the workers' protocol.
#pragma once

#include "base/json.h"
#include "model/operator.h"

namespace roofmark::gate {

// The contract that a worker needs to call a candidate: names in the order of the argument struct,
// and `arguments`, the card's inputs with those that are updated in place, in the card's order.
Json ContractOf(const Operator& op);

}  // namespace roofmark::gate
