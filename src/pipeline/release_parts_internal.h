// SPDX-License-Identifier: Apache-2.0
// The files of a release, before any hash.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "pipeline/pack.h"
#include "pipeline/release.h"

namespace roofmark::pipeline {

// The operator with those of its shapes that the suite weighs, and its small ones.
Operator ReleasedOperator(const Operator& op, const suite::Suite& suite);

// public/... of one operator: what pack would hand out, laid out for many operators.
Result<std::vector<BundleFile>> PublicFiles(const Operator& op);
// public/lanes/*.md.
Result<std::vector<BundleFile>> LaneFiles(const std::filesystem::path& data);
// hidden/operators/NAME/...: without the operator's weight, which is in the weights' file alone.
Result<std::vector<BundleFile>> HiddenFiles(const Operator& op);
// hidden/workloads.jsonl.
std::string WorkloadsText(const suite::Suite& suite);
// hidden/weights.json of the named workloads ("rms_norm/0"), in that order; those that the suite
// does not weigh get 0.
std::string WeightsText(const suite::Suite& suite, const std::vector<std::string>& workloads,
                        const Version& version, const std::string& date);

}  // namespace roofmark::pipeline
