// SPDX-License-Identifier: Apache-2.0
// The code objects that a just-in-time compiler left in a worker's scratch folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace roofmark::gate {

struct CachedCode {
  std::filesystem::path path;
  std::string hash;  // meter::CubinHash
  std::string cubin;
};

// The cubins below the folder that have one of these hashes; each file, where several have the same
// one. What cannot be read is left out.
std::vector<CachedCode> FindCachedCode(const std::vector<std::string>& hashes,
                                       const std::filesystem::path& scratch);

}  // namespace roofmark::gate
