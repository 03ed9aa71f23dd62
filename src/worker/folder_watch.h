// SPDX-License-Identifier: Apache-2.0
// Keeps what a sandbox writes to a folder on disk under a limit, where the folder cannot be one in
// memory with a size of its own: because the judge reads it, or because there are no mounts.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>

namespace roofmark::worker {

class FolderWatch {
 public:
  FolderWatch(std::filesystem::path folder, uint64_t limit_bytes);

  // Whether the folder holds more than its limit. Cheap to ask often: it is gone through once a
  // second at most, and only when its disk has lost as much since this watch began.
  bool IsOver();
  uint64_t limit_bytes() const { return limit_bytes_; }

 private:
  std::filesystem::path folder_;
  uint64_t limit_bytes_;
  uint64_t free_at_first_;
  std::chrono::steady_clock::time_point next_look_;
};

// What all files below a folder occupy on disk.
uint64_t BytesBelow(const std::filesystem::path& folder);

}  // namespace roofmark::worker
