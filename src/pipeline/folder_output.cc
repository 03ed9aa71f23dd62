// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>

#include "base/files.h"
#include "pipeline/folder_output_internal.h"

namespace roofmark::pipeline {
namespace {

Result<void> WriteFiles(const std::vector<BundleFile>& files, const fs::path& folder) {
  for (const BundleFile& file : files) {
    TRY(WriteFile(folder / file.path, file.text));
    if (!file.executable) continue;
    std::error_code error;
    fs::permissions(folder / file.path,
                    fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                    fs::perm_options::add, error);
    if (error) return Fail(ErrorKind::kIo, file.path + ": " + error.message());
  }
  return {};
}

}  // namespace

fs::path TargetFolder(const fs::path& folder) {
  const fs::path target = fs::absolute(folder).lexically_normal();
  return target.has_filename() ? target : target.parent_path();
}

Result<void> RequireFree(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(folder)) && !fs::is_empty(folder, error)) {
    return Fail(ErrorKind::kInput,
                folder.string() + ": is there already; remove it or name another folder with -o");
  }
  return {};
}

Result<fs::path> StageBeside(const fs::path& target, const std::vector<BundleFile>& files) {
  const fs::path staging = fmt::format("{}.{}.partial", target.string(), ::getpid());
  if (const Result<void> written = WriteFiles(files, staging); !written) {
    fs::remove_all(staging);
    return std::unexpected(written.error());
  }
  return staging;
}

Result<void> PutInPlace(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::remove(to, error);  // an empty folder that the person made
  fs::rename(from, to, error);
  if (error) return Fail(ErrorKind::kIo, to.string() + ": cannot create: " + error.message());
  return {};
}

std::string NowText() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace roofmark::pipeline
