// SPDX-License-Identifier: Apache-2.0
// A budget for shapes, so that an aggregate's size does not depend on how many lengths a server
// saw.
#pragma once

#include <cstddef>

#include "model/aggregate.h"

namespace roofmark {

// Shapes of one operator in one profile that `mine` keeps apart. Public profiles have up to a few
// dozen; attention with the lengths of its batch has one a step.
constexpr size_t kMostShapes = 4096;

// Keeps of each operator the `most` shapes with the most exposed time, over all phases (of equal
// ones the first in the order of cells), and adds the others up into one cell for each phase, which
// has no axes and element types and counts them (AggregateCell::folded). Time, calls, kernels,
// durations and measures are all kept. The choice is exact and does not depend on the order in
// which launches came, so that merging stays the same to the byte; folding twice is folding once
// with the smaller budget. Requires: most > 0, and a normalised profile.
void FoldShapes(ProfileAggregate& profile, size_t most);

}  // namespace roofmark
