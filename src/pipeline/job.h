// SPDX-License-Identifier: Apache-2.0
// One line of `judge --listen`: a candidate to judge, as JSON (docs/automation.md).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/candidate.h"
#include "model/verdict.h"

namespace roofmark::pipeline {

struct Job {
  std::string id;  // the caller's; comes back with each line of the answer
  std::string operator_name;
  std::filesystem::path path;  // of the candidate, or
  std::string source;          // its text, with its lane
  std::optional<Lane> lane;
  std::string name = "candidate";   // of a source
  std::vector<std::string> shapes;  // ids; empty = the run's default
  std::optional<bool> quick;        // empty = the run's
  std::optional<Gate> gate;
  std::filesystem::path against;
  bool again = true;  // false: shapes that the store has verdicts on, of the same content, are left
};

// Errors: kInput, naming the key.
Result<Job> ParseJob(std::string_view line);

// The id of a line that is no job, as far as it has one; null otherwise.
Json IdOf(std::string_view line);

// Reads the job's candidate; a source is written to a file in `folder` first. Errors: as
// ReadCandidate.
Result<Candidate> CandidateOf(const Job& job, const std::filesystem::path& folder);

}  // namespace roofmark::pipeline
