// SPDX-License-Identifier: Apache-2.0
// Suites that the project ships, as data: suites/<name>.toml says which tiers of shapes, which
// operators, and what each weighs. A weight is split over an operator's phases as the file says
// and equally over the shapes of a phase; both splits are assumptions and labelled so.
//
//   name, summary, source     required text
//   tiers = ["published"]     whose shapes are the workloads
//   raw_sum = 1.09478         the weights' sum, which is checked; they are normalised to 1
//   admission = "results/..."  optional; where the findings of `suite lint` lie
//   [operators.NAME]
//   weight = 0.394972         before normalisation
//   label = "published"       published, mined or assumed: where the weight comes from
//   provenance = "..."
//   phases = { prefill = 0.4, decode = 0.6 }   optional; absent: equally over all shapes
//   [[reported]]              optional; results that others report, shown beside ours: contestant,
//                             note, and numbers by any name
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/workload.h"
#include "suite/suite.h"

namespace roofmark::suite {

struct OperatorShare {
  std::string op;
  double raw = 0;    // as the file has it
  double share = 0;  // raw / sum
  WeightLabel label = WeightLabel::kAssumed;
  std::string provenance;
  std::map<Phase, double> phases;  // empty: not split by phase
};

struct ReportedResult {
  std::string contestant;
  std::string note;
  std::vector<std::pair<std::string, double>> figures;  // in file order
};

struct SuiteFile {
  std::string name;
  std::string summary;
  std::string source;
  std::vector<Tier> tiers;
  std::string admission;
  double raw_sum = 0;
  std::vector<OperatorShare> operators;  // largest share first
  std::vector<ReportedResult> reported;
};

// Whether `suites/<name>.toml` exists.
Result<bool> IsNamedSuite(const std::string& name);
// The names of all of them, sorted.
Result<std::vector<std::string>> NamedSuites();
// By name, or by path where it ends in .toml.
// Errors: kNotFound with the names there are; kInput with file and key.
Result<SuiteFile> ReadNamedSuite(const std::string& name);

// The workloads of the suite that the selection admits, with the weights that they have in the
// whole suite. Errors: as MakeSuite; kInput where an operator of the file has no shape in the
// tiers, or its phases are not those of its shapes.
Result<Suite> MakeNamedSuite(const SuiteFile& file,
                             std::vector<std::unique_ptr<const Operator>> operators,
                             const Selection& selection);
Result<Suite> LoadNamedSuite(const std::string& name, const Selection& selection);

// A line of `suite show --json`: suite, reported (the contestant), note, and each figure.
Json ReportedToJson(const SuiteFile& file, const ReportedResult& result);

}  // namespace roofmark::suite
