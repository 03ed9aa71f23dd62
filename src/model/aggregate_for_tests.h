// SPDX-License-Identifier: Apache-2.0
// What tests ask of aggregates.
#pragma once

#include <utility>
#include <vector>

#include "model/aggregate.h"

namespace roofmark {

// The profile with these cells, whose times and launches are all that it has.
inline ProfileAggregate WithCells(ProfileAggregate profile, std::vector<AggregateCell> cells) {
  for (const AggregateCell& cell : cells) {
    profile.busy_ns += cell.exposed_ns;
    profile.sum_ns += cell.sum_ns;
    profile.launches += cell.launches;
  }
  profile.cells = std::move(cells);
  return profile;
}

inline Aggregate AggregateOf(std::vector<ProfileAggregate> profiles) {
  Aggregate aggregate;
  for (ProfileAggregate& profile : profiles) aggregate.Add(std::move(profile));
  return aggregate;
}

}  // namespace roofmark
