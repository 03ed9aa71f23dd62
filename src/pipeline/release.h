// SPDX-License-Identifier: Apache-2.0
// A release of a suite: what may be handed out and what may not, apart, with the hash of everything
// and a version, so that two people can tell that they speak of the same suite.
//
//   MANIFEST.json                 format, suite, version, date, SHA-256 of each file and part
//   public/operators/NAME/        contract.json, reference.py, shapes.jsonl
//   public/include/roofmark/      abi.h and a header an operator
//   public/roofmark_ref/          modules that references import
//   public/lanes/                 the rules of each lane
//   hidden/weights.json           the weight of each workload with interval, label, provenance
//   hidden/workloads.jsonl        all workloads, hidden shapes too, with work and traffic
//   hidden/operators/NAME/        card.json (formulas, sources, released formulas), shapes.jsonl
//                                 (released figures) and variants.py (wrong programs) as they are
//   hidden/roofmark_ref/          modules that variants import
//
// The hash of a part is that of the lines "<sha256>  <path>\n" of its files, sorted by path: what
// `sha256sum` prints of them. The version is semantic: a refresh of weights raises the last number,
// and whoever adds workloads raises the middle one; a changed contract, the first.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/pack_check.h"
#include "suite/suite.h"

namespace roofmark::pipeline {

inline constexpr std::string_view kReleaseFormat = "roofmark-release/1";
inline constexpr std::string_view kWeightsFile = "hidden/weights.json";
inline constexpr std::string_view kWorkloadsFile = "hidden/workloads.jsonl";

struct Version {
  int64_t major = 0;
  int64_t minor = 0;
  int64_t patch = 0;
  auto operator<=>(const Version&) const = default;
};
// "1.0.12"; no signs, no leading zeros, nothing after it. Errors: kInput.
Result<Version> ParseVersion(std::string_view text);
std::string VersionText(const Version& version);

struct Release {
  std::filesystem::path folder;
  Version version;
  std::string suite;
  size_t operators = 0;
  size_t workloads = 0;
  std::string public_sha256;
  std::string hidden_sha256;
  size_t without_weight = 0;  // workloads of the release that a refresh gave none
};

// Writes the release of a suite's workloads at once. Operators without a workload in the suite are
// left out; small shapes of the others are public too, for checks on a CPU. `data` holds
// examples/lanes and devices.
// Errors: kInput where the folder is not empty, the suite is empty, or the public part would show
// what is hidden (with the findings); kNotFound, kIo.
Result<Release> WriteRelease(const suite::Suite& suite, const Version& version,
                             const std::filesystem::path& folder,
                             const std::filesystem::path& data);

// Replaces hidden/weights.json and the manifest of the release in `folder`; every other file and
// hash stays. Errors: kInput where the version is not a later patch of the release's, a file is not
// what the manifest says, or the suite weighs a workload that the release has not.
Result<Release> RefreshWeights(const suite::Suite& suite, const Version& version,
                               const std::filesystem::path& folder);

// What the manifest says of the release in `folder`. Errors: kNotFound, kIo, kInput.
Result<Release> ReadRelease(const std::filesystem::path& folder);

// Whether all files are as the manifest says, and whether the public part shows what is hidden of
// an operator that is among `known`. A release whose hidden part is not there is checked as far as
// it goes. Empty = nothing found. Errors: as ReadRelease.
Result<std::vector<Finding>> CheckRelease(const std::filesystem::path& folder,
                                          const std::vector<std::unique_ptr<const Operator>>& known,
                                          const std::filesystem::path& data);

}  // namespace roofmark::pipeline
