// SPDX-License-Identifier: Apache-2.0
// Building a `cuda` candidate without nvcc: NVRTC makes a cubin of each .cu (device code alone),
// and the system's compiler makes the library of the host sources, with the cubins inside.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/build.h"

namespace roofmark::candidate {

struct NvrtcTools {
  std::string compiler;  // of the host's sources: "g++"
  std::string nvrtc;     // the library, a full path
};

// `includes` are words "-I...". Errors: kInput when there is no device source or no host source.
Result<BuildPlan> PlanNvrtc(const Candidate& candidate, const NvrtcTools& tools,
                            const std::filesystem::path& source_dir,
                            const std::filesystem::path& out_dir, const std::string& arch,
                            const std::vector<std::string>& includes);

}  // namespace roofmark::candidate
