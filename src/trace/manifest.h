// SPDX-License-Identifier: Apache-2.0
// The manifest of a fleet: which profiles stand for which application and for how much card time.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/trace.h"

namespace roofmark::trace {

// One row, before its files are looked for.
struct ManifestRow {
  size_t line = 0;  // from 1
  std::string glob;
  std::string config;   // empty where the row has none
  MineOptions options;  // without what the config tells
};

// A CSV file (RFC 4180, comma separated, one row a line) whose first line names its columns:
//   glob         profiles, relative to the manifest: a file, a folder, or a pattern of * ? [] and
//   **
//                for folders at any depth (`profile` is another name of this column)
//   application  what they serve; profiles of one application are one cluster of the statistics.
//                Where it is empty, model, framework and device stand for it
//   model, framework, device, ranks (cards of a run)
//   card_hours   card time of all profiles of the row together
//   config       the model's config.json of Hugging Face, relative to the manifest
// Other columns are ignored, but not names that look like a misspelled one. The profiles of a row
// are a group: its id is a hash of the row's words, so that a row counts once wherever it is mined.
// `is_profile` tells by its name which file of a folder is one; what a pattern matches is taken as
// it is, and skipped openly where it does not read.
// Errors: kNotFound and kInput with file, line, and what to do about it.
Result<std::vector<ProfileInput>> ReadManifest(
    const std::filesystem::path& path, const std::function<bool(const std::string&)>& is_profile);

// The rows of a manifest's text, without a look at any file. Errors: kInput with the line.
Result<std::vector<ManifestRow>> ParseManifest(std::string_view text);

// The files that a pattern matches, in order of path. Links to folders are not followed.
std::vector<std::filesystem::path> MatchGlob(const std::filesystem::path& folder,
                                             std::string_view pattern);

// Sizes of a model by their names in config.json: whole numbers at the top level, then under
// text_config. head_dim is hidden_size / num_attention_heads where it is not stated, and
// moe_intermediate_size is intermediate_size where experts are (Mixtral, gpt-oss), which are all
// that has one then.
// Errors: kNotFound, kIo, kInput naming the file.
Result<std::map<std::string, int64_t, std::less<>>> ReadModelConfig(
    const std::filesystem::path& path);

}  // namespace roofmark::trace
