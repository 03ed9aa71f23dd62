// SPDX-License-Identifier: Apache-2.0
// From a fleet's aggregate to weights: which share of the fleet's GPU time each cell has. This is
// the first place where anything is divided.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/aggregate.h"
#include "suite/share_interval.h"

namespace roofmark::suite {

// A cell of the fleet: all profiles' cells of one operator, shape, element types and phase.
struct FleetCell {
  AggregateCell sums;                         // plain sums over profiles, times not weighted
  Share share;                                // of the fleet's GPU time
  std::map<size_t, double> parts;             // by sampling unit; they add up to share.value
  std::map<std::string, double> deployed_ns;  // mean time of a call, by device
  // Index of each profile that holds it (FleetWeights::sampled), and its exposed time there, ns.
  std::vector<std::pair<uint32_t, double>> times;
};

// A profile as the statistics see it.
struct SampledProfile {
  std::string hash;
  size_t application = 0;  // index in FleetWeights::applications
  size_t group = 0;        // index in FleetWeights::groups
  double busy_ns = 0;
  int64_t ranks = 0;
  double share_of_ns = 0;  // of the fleet, that a nanosecond of its exposed time is
};

// The profiles that share one amount of card time: a row of the manifest.
struct FleetGroup {
  size_t application = 0;
  double weight = 0;  // of the fleet's card time
  std::vector<uint32_t> profiles;
};

struct FleetApplication {
  std::string name;       // a profile's hash where it has none
  double weight = 0;      // of the fleet's card time
  double card_hours = 0;  // that were stated; 0 where none were
  size_t profiles = 0;
  double busy = 0;  // share of the recorded windows in which the devices were busy
};

struct FleetWeights {
  std::vector<FleetCell> cells;  // largest share first
  std::vector<SampledProfile> sampled;
  std::vector<FleetGroup> groups;
  std::vector<FleetApplication> applications;
  size_t profiles = 0;        // with any kernel
  std::vector<double> units;  // weights of the sampling units (see below); they add up to 1
  bool units_are_profiles = false;
  double card_hours = 0;  // that were stated; 0 where none were
  double total = 0;       // of all shares: 1, or 0 where there is no time at all
  // Kish's effective number of applications, (sum H)^2 / sum H^2. Source: Kish, Survey Sampling
  // (1965), section 11.7.
  double effective = 0;
};

// What a share is of: of the card time that is paid for (an application's idle time is charged to
// its operators in proportion), or of the time in which cards are busy (card time times the busy
// share of the application's windows).
enum class ShareKind { kPaid, kBusy };

// The share of a cell in a group of profiles is the ratio of sums: exposed time over busy time.
// Groups weigh by their card time; those that state none are pooled by application and count as the
// mean of the groups that do (all equal where none does). Profiles without an application stand for
// themselves.
// Sampling units are the applications, or where there is only one, its profiles; intervals are
// those of ShareOfParts.
FleetWeights WeighAggregate(const Aggregate& aggregate, ShareKind kind = ShareKind::kPaid);

// A fleet as it was in one of several windows of time.
struct WeighedWindow {
  const Aggregate* aggregate = nullptr;
  double weight = 1;  // of the window; those of all add up to 1
};

// The same of several windows: each share is the windows' mean by their weight, exactly. An
// application of several windows is one unit. A profile that several windows hold counts in the
// last of them.
FleetWeights WeighWindows(const std::vector<WeighedWindow>& windows, ShareKind kind);

}  // namespace roofmark::suite
