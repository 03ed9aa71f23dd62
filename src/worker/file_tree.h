// SPDX-License-Identifier: Apache-2.0
// Which part of this machine a sandbox shows: the system's programs and libraries, a Python
// interpreter or a GPU's driver where needed, the candidate read-only, and its scratch folder.
// Nothing of anybody's home, of Roofmark's own data, or of other candidates.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/candidate.h"
#include "worker/sandbox_spec.h"

namespace roofmark::worker {

// Whether vendor libraries and frameworks (cuBLAS, cuDNN, OpenBLAS, PyTorch) can be seen.
enum class Libraries { kShown, kHidden };

struct TreeRequest {
  std::filesystem::path folder;   // at /candidate
  std::filesystem::path include;  // at /include; empty = none
  std::filesystem::path scratch;  // at /scratch, writable; empty = in memory
  uint64_t scratch_bytes = 0;     // how much it may hold there
  std::string python;             // interpreter; empty = none
  DeviceKind device = DeviceKind::kCpu;
  Libraries libraries = Libraries::kShown;
  std::vector<std::filesystem::path> shown;
  uint64_t temporary_bytes = uint64_t{1} << 30;  // of /tmp and of /dev/shm, each
};
// Errors: kNotFound for a folder that does not exist.
Result<std::vector<TreeEntry>> PlanTree(const TreeRequest& request);

// PATH, HOME and caches under /scratch, and what the judge's own environment says about finding
// libraries (LD_LIBRARY_PATH, PYTHONPATH, CUDA_HOME and the like).
std::vector<std::string> BaseEnvironment();

}  // namespace roofmark::worker
