// SPDX-License-Identifier: Apache-2.0
// Writes what the importer's worker described. Its texts come from a program that ran foreign code:
// names become paths only after a check, and texts are quoted.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace roofmark::exchange {

// The card as TOML. `card` is what `describe` returned (worker/python/roofmark_importer.py).
// Errors: kInput where a part is missing or of another type.
Result<std::string> CardToml(const Json& card);

// Writes the operator's folder <operators>/<name>, with files copied from `root`, and reads it back
// with every workload. A folder there that was not imported is not touched. Errors: kInput, kIo.
Result<void> WriteOperator(const Json& described, const std::string& name,
                           const std::filesystem::path& root,
                           const std::filesystem::path& operators);

struct CandidateFiles {
  std::string name;
  std::string lane;
  std::string role;   // "candidate" or "baseline"
  std::string entry;  // "file::function"
  Json files;         // [{"path", "content"}]
};
// Writes a candidate's folder with its candidate.toml, and reads it back. Errors: kInput, kIo.
Result<void> WriteCandidate(const CandidateFiles& candidate, const std::filesystem::path& folder);

// `path` under `folder`; kInput where it would lie outside, or is no plain relative path.
Result<std::filesystem::path> Inside(const std::filesystem::path& folder, const std::string& path);

}  // namespace roofmark::exchange
