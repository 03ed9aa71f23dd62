// SPDX-License-Identifier: Apache-2.0
// The face of trace/: a profile of production goes in, its exact totals and its GPU time by
// operator, shape and phase come out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/aggregate.h"
#include "model/fold_shapes.h"
#include "trace/attribution.h"
#include "trace/check_profile.h"
#include "trace/rules.h"

namespace roofmark::trace {

struct MineOptions {
  // Profiles of the capture of this profile's graphs; those that lie beside it are found anyway.
  std::vector<std::filesystem::path> captures;
  // Execution traces of the same run, for shapes; one that lies beside the profile is found anyway.
  std::vector<std::filesystem::path> execution_traces;
  std::string application;         // empty: the profile stands for itself
  std::string group;               // the profiles that share card_ms; empty: this one alone
  std::optional<int64_t> card_ms;  // card time that the group stands for, in milliseconds
  std::string model;
  std::string framework;
  std::string device;  // where the profile does not say
  int64_t ranks = 0;   // cards of a run; 0 where nobody said
  // Sizes of the model, by name as in its config.json: for shapes that the profile lacks.
  std::map<std::string, int64_t, std::less<>> facts;
  size_t most_shapes = kMostShapes;  // of each operator; see FoldShapes
  std::string explain;               // see AttributionOptions
};

// Time that nothing claims, by kernel, largest first.
struct UnknownKernel {
  std::string name;
  int64_t exposed_ns = 0;
  uint64_t launches = 0;
};

enum class ProfileRole {
  kProduction,
  kCapture,  // recorded while graphs were captured: gives shapes to others, and no weight
};

struct ProfileSummary {
  ProfileRole role = ProfileRole::kProduction;
  ProfileAggregate aggregate;  // what goes into the fleet aggregate
  std::vector<UnknownKernel> unknown;
  std::vector<Finding> findings;          // what it lacks, worst first
  std::vector<Explanation> explanations;  // of the kernels that were asked about
  Json json;                              // see SummaryToJson
};

// Mines one profile. Errors: kNotFound, kIo, kInput where it is no profile, naming the file. A
// capture profile or execution trace that does not read is reported in the summary's loss, not an
// error.
Result<ProfileSummary> MineProfile(const std::filesystem::path& path, const Rules& rules,
                                   const MineOptions& options = {});

// The object that `mine --json` prints: `profile` (the path as given), `kind` (profile_format.h),
// `role`, `sha256` of what the device did, every total of totals.h under its name, `base_ns` (null
// where the profile has none), `unattributed_ns`, exposed time by operator and phase, kernels'
// durations by where their shapes are from (`shapes_from_ns`, ShapeFromName), how kernels were
// linked, how graphs were paired, how many operators got sizes from each execution trace
// (`execution_traces`, where there is one), and `loss`.
const Json& SummaryToJson(const ProfileSummary& summary);

// One profile to mine, from a list of files, folders and manifests.
struct ProfileInput {
  std::filesystem::path path;
  MineOptions options;
  // Found by searching a folder, which may hold other files of that name; else named by a person.
  bool searched = false;
};

// Folders are searched for the names that profilers write (IsProfileName), at every depth; a
// manifest (.csv that is no sheet of rocprofv3) is read as manifest.h says. Each path is taken
// once; folders come in order of path. Errors: kNotFound, kInput naming file and line.
Result<std::vector<ProfileInput>> FindProfiles(const std::vector<std::filesystem::path>& paths);

}  // namespace roofmark::trace
