// SPDX-License-Identifier: Apache-2.0
// Patterns of paths, folder by folder. The C library's glob() knows no **.
#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "trace/manifest.h"

namespace roofmark::trace {
namespace {

std::vector<fs::path> Entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, error), end;
       !error && entry != end; entry.increment(error)) {
    entries.push_back(folder / entry->path().filename());
  }
  return entries;
}

bool IsRealFolder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && !fs::is_symlink(path, error);
}

void Match(const fs::path& folder, const std::vector<std::string>& parts, size_t at,
           std::set<fs::path>& found) {
  const std::string& part = parts[at];
  const bool last = at + 1 == parts.size();
  if (part == "**" && !last) Match(folder, parts, at + 1, found);  // ** may be no folder at all
  if (part == "." || part == "..") {
    if (!last) Match(folder / part, parts, at + 1, found);
    return;
  }
  std::error_code error;
  for (const fs::path& entry : Entries(folder)) {
    const std::string name = entry.filename().string();
    const bool hidden = name.starts_with('.') && !part.starts_with('.');
    const bool any = part == "**";
    if (hidden || (!any && ::fnmatch(part.c_str(), name.c_str(), 0) != 0)) continue;
    if (last && fs::is_regular_file(entry, error)) found.insert(entry);
    if (any && IsRealFolder(entry)) Match(entry, parts, at, found);
    if (!any && !last && fs::is_directory(entry, error)) Match(entry, parts, at + 1, found);
  }
}

}  // namespace

std::vector<fs::path> MatchGlob(const fs::path& folder, std::string_view pattern) {
  fs::path start = folder;
  if (pattern.starts_with('/')) start = "/";
  std::vector<std::string> parts;
  for (const std::string_view part : Split(pattern, '/')) {
    if (!part.empty()) parts.emplace_back(part);
  }
  std::set<fs::path> found;
  if (!parts.empty()) Match(start, parts, 0, found);
  return {found.begin(), found.end()};
}

}  // namespace roofmark::trace
