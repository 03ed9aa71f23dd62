// SPDX-License-Identifier: Apache-2.0
// A suite is the set of workloads that a candidate is judged and scored on: operators from their
// cards, shapes selected from them, and a weight on each. This file loads the suite that the
// project ships; from_aggregate.h makes one from mined profiles.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/suite_draws.h"
#include "model/workload.h"

namespace roofmark::suite {

struct Suite {
  std::string name;
  // Workloads point at their operators, so these stay where they are. Sorted by name.
  std::vector<std::unique_ptr<const Operator>> operators;
  std::vector<Workload> workloads;  // by operator, then in the order of shapes.jsonl
  SuiteDraws draws;  // of a mined suite, also of workloads that are not selected; else empty

  // nullptr where there is none.
  const Operator* FindOperator(std::string_view operator_name) const;
};

// Which workloads to take. An empty list means no restriction.
struct Selection {
  std::vector<std::string> operators;
  std::vector<Tier> tiers;
  std::vector<std::string> shapes;  // ids ("0", "c-decode-b64-8k"), or "rms_norm/0"
};

// Reads every folder of `operators_folder` that holds an operator.toml.
// Errors: kNotFound, kIo, kInput, as ReadOperator; kNotFound where the folder holds no operator.
Result<std::vector<std::unique_ptr<const Operator>>> ReadOperators(
    const std::filesystem::path& operators_folder);

// The operators of every folder that OperatorFolders() (base/files.h) names, sorted by name.
// Errors: as ReadOperators; kInput where two folders hold an operator of one name.
Result<std::vector<std::unique_ptr<const Operator>>> ReadAllOperators();

// The selected workloads with published weights (see PublishedWeight).
// Errors: kNotFound for an operator or shape id that does not exist, with what does.
Result<Suite> MakeSuite(std::vector<std::unique_ptr<const Operator>> operators,
                        const Selection& selection);

// MakeSuite of ReadOperators. `folder` holds the operators' folders, or operators/ with them; empty
// means ReadAllOperators.
Result<Suite> LoadSuite(const Selection& selection = {}, const std::filesystem::path& folder = {});

// The weight of one shape where only operators have published weights: the operator's weight split
// equally over its shapes of the same tier. Each tier is thus a complete stand-in for the operator,
// and a suite of one tier has the operators' published weights. The split is an assumption, and the
// weight is labelled so; its provenance says that the operator's total is published. An imported
// operator without a weight has 1 in all.
Weight PublishedWeight(const Operator& op, const Shape& shape);

// The telling shapes for a quick look: of these workloads of one operator, those with the least,
// the median and the most traffic (fewer where there are fewer). Indices, ascending.
std::vector<size_t> TellingWorkloads(std::span<const Workload> workloads);

}  // namespace roofmark::suite
