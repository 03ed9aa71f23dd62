// SPDX-License-Identifier: Apache-2.0
// What a worker on a GPU sees besides the driver: the meter that the driver injects into it, and
// CUPTI, which the meter needs. Both appear at fixed places, so that nothing else of the folders
// that they come from has to be shown.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "worker/sandbox_spec.h"

namespace roofmark::worker {

// Adds the files and the variables (CUDA_INJECTION64_PATH, ROOFMARK_CUPTI). Without CUPTI the
// worker runs, but nothing is metered; the verdict's level then says so. Errors: kNotFound when the
// meter is missing.
Result<void> AddCudaFiles(std::vector<TreeEntry>* tree, std::vector<std::string>* environment);

}  // namespace roofmark::worker
