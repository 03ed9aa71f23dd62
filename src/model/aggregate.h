// SPDX-License-Identifier: Apache-2.0
// What mining leaves of a fleet's profiles: per profile a table of cells (operator, shape, element
// types, phase) with integer sums. Aggregates merge in any order and grouping into the same bytes,
// and a profile that is merged twice counts once, so thousands of profiles can be mined anywhere
// and folded anyhow. They hold no paths, prompts, annotations or host names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/shape.h"
#include "model/spread.h"

namespace roofmark {

// Launches of one kernel within a cell.
struct KernelUse {
  int64_t launches = 0;
  int64_t sum_ns = 0;
  bool operator==(const KernelUse&) const = default;
};

struct AggregateCell {
  std::string op;                             // empty: unattributed
  Axes axes;                                  // as run (padded); empty: the shape is unknown
  std::map<std::string, std::string> dtypes;  // element types, by tensor of the operator's card
  Phase phase = Phase::kUnknown;
  int64_t folded = 0;      // how many shapes beyond the budget it holds (FoldShapes); 0: it is one
  int64_t calls = 0;       // of the operator; one call may launch several kernels
  int64_t launches = 0;    // of kernels
  int64_t sum_ns = 0;      // of their durations
  int64_t exposed_ns = 0;  // of their share of the device's busy time
  // Calls of mixed steps have a part of their time in the cell of each phase and are counted in one
  // of the two. What the calls of this cell have in the other one, and how many are counted there:
  int64_t elsewhere_ns = 0;
  int64_t elsewhere_calls = 0;
  std::map<std::string, KernelUse> kernels;
  Spread durations;  // of launches, ns
  // What calls were beyond their shape: "true.AXIS", the size before a graph padded it; "AXIS", the
  // entries of a list (lengths of sequences); "A*B", for each call the sum of products of two
  // lists.
  std::map<std::string, Spread> measures;

  // Mean time of one call as deployed: the whole call's, also where its step was mixed, since its
  // shape is the whole call's too. 0 where there is none.
  double DeployedNs() const {
    const double all = static_cast<double>(calls) + static_cast<double>(elsewhere_calls);
    const double ns = static_cast<double>(sum_ns) + static_cast<double>(elsewhere_ns);
    return all > 0 ? ns / all : 0;
  }
  bool operator==(const AggregateCell&) const = default;
};

// One mined profile. Exposed times of the cells add up to busy_ns, durations to sum_ns.
struct ProfileAggregate {
  std::string hash;                // SHA-256 of what the device did: the profile's identity
  std::string application;         // from the fleet's manifest; empty = the profile for itself
  std::string group;               // the profiles that share card_ms; empty = this one alone
  std::optional<int64_t> card_ms;  // card time that its group stands for
  std::string model;               // as the manifest says, like the next two
  std::string framework;
  int64_t ranks = 0;             // cards of a run; 0 where nobody said
  std::string device;            // the GPU's name, where the profile or the manifest says
  std::optional<int64_t> rank;   // of the run's cards, where the profile says
  int64_t devices = 0;           // that ran kernels
  bool shapes_recorded = false;  // recording slows the CPU down: for whoever compares
  bool stacks_recorded = false;
  int64_t window_ns = 0;  // from the first kernel's start to the last one's end
  int64_t busy_ns = 0;    // time with at least one kernel, summed over devices
  int64_t sum_ns = 0;
  int64_t launches = 0;
  int64_t events = 0;       // of the profile, of all kinds
  int64_t lost_events = 0;  // damaged ones, not among them
  bool truncated = false;
  std::vector<AggregateCell> cells;  // by operator, phase, axes, element types
  bool operator==(const ProfileAggregate&) const = default;
};

// Sorts the cells and adds up those of one key.
void Normalise(ProfileAggregate& profile);

// Adds the lengths of a cell's list axes to its measures, once for each call.
void MeasureLengths(AggregateCell& cell);

// Adds what was counted of `cell` to a cell of the same key.
void AddCounts(const AggregateCell& cell, AggregateCell& into);

class Aggregate {
 public:
  // Adds a profile. Of two that claim one hash and differ, the one that states its card time stays,
  // then the one that states its application, then the one with fewer folded shapes, then the one
  // whose text is smaller: order never matters.
  void Add(ProfileAggregate profile);
  void Merge(const Aggregate& other);
  // Takes a profile out, as if it had never been added; false where it is not there.
  bool Remove(const std::string& hash) { return profiles_.erase(hash) > 0; }

  // By hash.
  const std::map<std::string, ProfileAggregate>& profiles() const { return profiles_; }

  // A document with "format": "roofmark-aggregate/2"; the same aggregate has the same bytes.
  Json ToJson() const;
  // Reads version 1 too, which knew less. Errors: kInput for another format, missing or wrong
  // members, negative counts, and cells that do not add up to their profile's sums.
  static Result<Aggregate> FromJson(const Json& json);

  bool operator==(const Aggregate&) const = default;

 private:
  std::map<std::string, ProfileAggregate> profiles_;
};

}  // namespace roofmark
