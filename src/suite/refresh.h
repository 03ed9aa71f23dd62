// SPDX-License-Identifier: Apache-2.0
// Refreshing a suite: weights that do not jump with every recording, and shapes whose ids and
// scores outlive the window that chose them.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "suite/mined_workload.h"

namespace roofmark::suite {

// How much the newer of two windows counts in their mean.
struct NewWindow {
  double weight = 1;
  std::string_view from;  // "asked", "variances" or "profiles"
};

// As asked (0..1), else by the variances of the operators' shares if each window were recorded
// again: old / (old + new), which makes the variance of the mean smallest; by the numbers of
// profiles where either window cannot tell its variance.
NewWindow WeighNewWindow(const Aggregate& older, const Aggregate& newer, ShareKind kind,
                         std::optional<double> asked);

// The shapes of a suite that `suite build` wrote, as "operator/shape". Errors: kInput for another
// document.
Result<std::set<std::string>> ShapesOfSuite(const Json& suite);

// What became of a suite's shapes when it was built anew.
struct Refreshed {
  size_t kept = 0;     // selected again
  size_t fresh = 0;    // selected for the first time
  size_t retired = 0;  // no longer there
  Json::Array retiring;
};

// `workloads` are the new suite's. A shape that the previous suite weighed and the new one did not
// select stays once more, without weight, so that a score can be followed over the change; one that
// stayed so already, or was there for robustness only, is retired. Requires:
// ShapesOfSuite(previous) is a value.
Refreshed RefreshShapes(const Json& previous, const Json::Array& workloads, const Cards& cards);

}  // namespace roofmark::suite
