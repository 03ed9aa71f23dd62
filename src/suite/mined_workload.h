// SPDX-License-Identifier: Apache-2.0
// From the fleet's cells to workloads: which cells a card admits, which nearby sizes are one
// workload, and which observed shape represents it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/workload.h"
#include "suite/aggregate_weights.h"

namespace roofmark::suite {

// What a shape costs at least, on whatever device the caller means, and what binds it ("memory").
struct ShapeCost {
  double ns = 0;
  std::string bound_by;
};
using CostOf = std::function<ShapeCost(const Workload&)>;

using Cards = std::map<std::string, const Operator*>;

// The card of a cell: its operator's, or where the recorded element types are not that one's, a
// variant's that has them. nullptr where there is none.
const Operator* CardFor(const AggregateCell& cell, const Cards& cards);

// Why a cell can be in no workload; empty where it can.
std::string Refusal(const AggregateCell& cell, const Operator* op);

// Whether the profile did not tell a cell's shape, or an axis of it that the card has.
bool LacksShape(const AggregateCell& cell, const Operator& op);

// A cell's load: the size of the operator's load axis, or the sum of its first list.
int64_t LoadOf(const AggregateCell& cell, const Operator& op);

// The axes that the card has: those recorded, of which there may be more, and those that choose an
// element type, by the recorded one.
Axes CardAxes(const AggregateCell& cell, const Operator& op);

// "m-decode-1f3a9c20": by phase and a hash of the axes, so that it is stable.
std::string MinedShapeId(const AggregateCell& cell, const Operator& op);

struct MinedWorkload {
  const Operator* op = nullptr;
  const FleetCell* shown = nullptr;       // the member that represents them
  std::vector<const FleetCell*> members;  // largest share first
  std::map<size_t, double> parts;
  Share share;
  double imputed = 0;   // see Imputation: part of the share where that was asked for
  double unknown = 0;   // share of the fleet that is its operator's in its phase without a shape
  ShapeCost cost;       // of `shown`
  double residual = 0;  // weighted mean of |cost of a member / cost of shown - 1|
};

struct Imputation;

struct MergeOptions {
  CostOf cost;          // of a shape; empty: its traffic in bytes
  bool impute = false;  // add what the Imputation would, and not only state it
  // Shapes that keep representing theirs, as "operator/shape", so that ids outlive a refresh.
  std::set<std::string> keep;
};

// Workloads of the cells that the cards admit, largest share first, and in `row_of_cell` the index
// of each cell's workload (SIZE_MAX: none). Sizes within 5 % and of equal divisibility are one
// workload; a kept shape represents it, or else the weighted median by cost.
std::vector<MinedWorkload> MergeCells(const FleetWeights& weights, const Cards& cards,
                                      const Imputation& imputation, const MergeOptions& options,
                                      std::vector<size_t>& row_of_cell);

}  // namespace roofmark::suite
