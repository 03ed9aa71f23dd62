// SPDX-License-Identifier: Apache-2.0
// Mined suites: what the fleet's aggregate says about the operators that have a card becomes
// weighted workloads; what it says about the rest of the time is kept beside them, so that a score
// states which part of the fleet it speaks for.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "base/json.h"
#include "base/result.h"
#include "model/aggregate.h"
#include "suite/phase_mix.h"
#include "suite/select_shapes.h"
#include "suite/suite.h"

namespace roofmark::suite {

struct BuildOptions {
  SelectOptions select;
  ShareKind share_of = ShareKind::kPaid;
  CostOf cost;          // see MergeCells; empty: traffic
  bool impute = false;  // spread time without a shape over known shapes (see Imputation)
  // An earlier window that the weights are smoothed with, and how much the aggregate itself counts
  // then (see WeighNewWindow).
  const Aggregate* older = nullptr;
  std::optional<double> new_weight;
  PhaseMix phase_mix;  // that phases are to have instead of the recorded one; empty: that one
  // The suite that this one follows: its shapes go on representing theirs (see RefreshShapes).
  const Json* previous = nullptr;
  size_t draws = 1000;  // of the bootstrap
};

// The document that `suite build` writes ("format": "roofmark-suite/1"): mined workloads of the
// given operators as SelectShapes takes them, and a table of all operators of the fleet with their
// shares and the reason why time of theirs is in no workload. A cell becomes a workload where its
// axes are the card's and its element types are those of the card's inputs. Nearby sizes are
// merged: an operator's load axes are its lists, or where it has none its first axis; sizes within
// 5 % and of equal divisibility (by powers of two up to 128) form one workload, represented by the
// observed shape with the largest share. Divisibility keeps the sizes apart that graphs are padded
// to. Errors: kInput where the aggregate holds no GPU time.
Result<Json> BuildSuite(const Aggregate& aggregate,
                        std::span<const std::unique_ptr<const Operator>> operators,
                        const BuildOptions& options = {});
// With all operators (ReadAllOperators).
Result<Json> BuildSuite(const Aggregate& aggregate);

// Reads such a document and merges its shapes into the operators' cards. Workloads are the
// selected ones; mined ones carry their weight, others (only where the selection names their tier
// or id) weigh nothing. Errors: kNotFound, kIo, kInput; as MakeSuite.
Result<Suite> LoadWeightedSuite(const std::filesystem::path& path, const Selection& selection);

}  // namespace roofmark::suite
