// SPDX-License-Identifier: Apache-2.0
#include "model/fold_shapes.h"

#include <algorithm>
#include <map>
#include <vector>

#include "base/check.h"

namespace roofmark {
namespace {

bool HasShape(const AggregateCell& cell) {
  return !cell.op.empty() && !cell.axes.empty();
}

}  // namespace

void FoldShapes(ProfileAggregate& profile, size_t most) {
  CHECK(most > 0);
  std::map<std::string, std::vector<AggregateCell*>> by_op;
  for (AggregateCell& cell : profile.cells) {
    if (HasShape(cell)) by_op[cell.op].push_back(&cell);
  }
  std::vector<AggregateCell> folded;
  for (auto& [op, cells] : by_op) {
    if (cells.size() <= most) continue;
    std::ranges::stable_sort(cells, std::greater<>(), &AggregateCell::exposed_ns);
    for (size_t i = most; i < cells.size(); ++i) {
      AggregateCell& cell = *cells[i];
      AggregateCell into{.op = op, .phase = cell.phase};
      AddCounts(cell, into);
      into.folded = 1;
      folded.push_back(std::move(into));
      cell.launches = -1;  // to be erased: counts are never negative
    }
  }
  if (folded.empty()) return;
  std::erase_if(profile.cells, [](const AggregateCell& cell) { return cell.launches < 0; });
  for (AggregateCell& cell : folded) profile.cells.push_back(std::move(cell));
  Normalise(profile);
}

}  // namespace roofmark
