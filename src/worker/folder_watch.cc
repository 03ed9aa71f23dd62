// SPDX-License-Identifier: Apache-2.0
#include "worker/folder_watch.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <utility>

namespace roofmark::worker {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kBetweenLooks = std::chrono::seconds(1);
constexpr uint64_t kBlockBytes = 512;  // of st_blocks, stat(2)

uint64_t FreeBytes(const fs::path& folder) {
  struct statvfs disk{};
  if (::statvfs(folder.c_str(), &disk) != 0) return 0;
  return uint64_t{disk.f_bfree} * disk.f_frsize;
}

}  // namespace

uint64_t BytesBelow(const fs::path& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  constexpr auto kOptions = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator it(folder, kOptions, error), end; !error && it != end;
       it.increment(error)) {
    struct stat info{};
    if (::lstat(it->path().c_str(), &info) == 0) {
      bytes += static_cast<uint64_t>(info.st_blocks) * kBlockBytes;
    }
  }
  return bytes;
}

FolderWatch::FolderWatch(fs::path folder, uint64_t limit_bytes)
    : folder_(std::move(folder)), limit_bytes_(limit_bytes), free_at_first_(FreeBytes(folder_)) {}

bool FolderWatch::IsOver() {
  const uint64_t free_now = FreeBytes(folder_);
  if (free_now + limit_bytes_ > free_at_first_ || Clock::now() < next_look_) return false;
  next_look_ = Clock::now() + kBetweenLooks;
  return BytesBelow(folder_) > limit_bytes_;
}

}  // namespace roofmark::worker
