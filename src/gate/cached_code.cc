// SPDX-License-Identifier: Apache-2.0
#include "gate/cached_code.h"

#include <algorithm>

#include "base/files.h"
#include "gate/scratch_files.h"
#include "meter/cubin.h"

namespace roofmark::gate {

std::vector<CachedCode> FindCachedCode(const std::vector<std::string>& hashes,
                                       const fs::path& scratch) {
  std::vector<CachedCode> found;
  if (hashes.empty()) return found;
  for (const fs::path& path : ScratchFiles(scratch, ".cubin")) {
    Result<std::string> cubin = ReadFile(path);
    if (!cubin) continue;
    std::string hash = meter::CubinHash(*cubin);
    if (std::ranges::find(hashes, hash) == hashes.end()) continue;
    found.push_back({path, std::move(hash), std::move(*cubin)});
  }
  return found;
}

}  // namespace roofmark::gate
