// SPDX-License-Identifier: Apache-2.0
#include "gate/scratch_files.h"

#include <cstdint>
#include <system_error>

namespace roofmark::gate {

std::vector<std::filesystem::path> ScratchFiles(const std::filesystem::path& folder,
                                                std::string_view extension) {
  namespace fs = std::filesystem;
  constexpr uintmax_t kLargest = uintmax_t{64} << 20;
  constexpr size_t kMostFiles = 4096;
  std::vector<fs::path> files;
  std::error_code error;
  for (auto at = fs::recursive_directory_iterator(
           folder, fs::directory_options::skip_permission_denied, error);
       !error && at != fs::recursive_directory_iterator() && files.size() < kMostFiles;
       at.increment(error)) {
    std::error_code ignored;
    const bool wanted = extension.empty() || at->path().extension() == extension;
    if (wanted && at->is_regular_file(ignored) && !at->is_symlink(ignored) &&
        at->file_size(ignored) <= kLargest) {
      files.push_back(at->path());
    }
  }
  return files;
}

}  // namespace roofmark::gate
