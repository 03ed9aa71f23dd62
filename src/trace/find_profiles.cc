// SPDX-License-Identifier: Apache-2.0
// Which profiles a person means by files, folders and manifests.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "trace/manifest.h"
#include "trace/profile_format.h"
#include "trace/trace.h"

namespace roofmark::trace {
namespace {

Result<std::vector<fs::path>> SearchFolder(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error) && IsProfileName(entry->path().filename().string())) {
      found.push_back(entry->path());
    }
  }
  if (error) return Fail(ErrorKind::kIo, fmt::format("{}: {}", folder.string(), error.message()));
  std::ranges::sort(found);
  return found;
}

}  // namespace

Result<std::vector<ProfileInput>> FindProfiles(const std::vector<fs::path>& paths) {
  std::vector<ProfileInput> inputs;
  std::set<fs::path> seen;
  const auto add = [&](ProfileInput input) {
    if (seen.insert(input.path.lexically_normal()).second) inputs.push_back(std::move(input));
  };
  for (const fs::path& path : paths) {
    if (fs::is_directory(path)) {
      for (const fs::path& found : TRY(SearchFolder(path))) {
        add({.path = found, .options = {}, .searched = true});
      }
    } else if (path.extension() == ".csv" && !IsRocprofCsv(path)) {
      for (ProfileInput& input : TRY(ReadManifest(path, IsProfileName))) add(std::move(input));
    } else if (fs::exists(path)) {
      add({.path = path, .options = {}});
    } else {
      return Fail(ErrorKind::kNotFound, fmt::format("there is no profile {}", path.string()));
    }
  }
  return inputs;
}

}  // namespace roofmark::trace
