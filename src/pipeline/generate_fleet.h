// SPDX-License-Identifier: Apache-2.0
// A whole fleet of profiles whose weights are known, to hold the miner and its intervals against.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/shape.h"

namespace roofmark::pipeline {

struct FleetPlan {
  size_t profiles = 1303;
  size_t applications = 20;
  uint64_t seed = 1;       // the same plan gives the same bytes
  uint64_t recording = 0;  // another one: the same fleet, recorded again
};

// A share of the fleet's GPU time as it is by construction.
struct KnownShare {
  std::string op;  // empty: kernels that no rule claims
  Phase phase = Phase::kUnknown;
  double share = 0;
};

// Writes profiles (`app-07/p-0012.json.gz`, Kineto's layout), `manifest.csv`, and `truth.json` with
// what is returned. Applications run on one of two devices, have card-hours that differ by two
// orders of magnitude, their own sizes and durations, and on average their own number of calls of
// each operator; profiles vary around it with the load of their steps. The share of a row is that
// of the expected times, so that profiles are samples of the truth and do not add up to it.
// Errors: kUsage where there are fewer than two profiles for each application; kIo.
Result<std::vector<KnownShare>> GenerateFleet(
    const std::filesystem::path& folder, const FleetPlan& plan,
    const std::function<void(size_t done, size_t total)>& progress = {});

}  // namespace roofmark::pipeline
