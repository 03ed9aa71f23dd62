// SPDX-License-Identifier: Apache-2.0
// Mining in parts that may be killed: each is a process of its own somewhere, and counts only by
// the file that it leaves when it is done.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/mine_fleet.h"
#include "trace/trace.h"

namespace roofmark::pipeline {

// Where parts run. A part is known by a number; `roofmark mine --part FOLDER/part-N` does it.
class PartRunner {
 public:
  virtual ~PartRunner() = default;
  // Starts these parts and returns when none of them runs any more, however they ended. `waiting`
  // is called every now and then. Errors: kNotFound, kIo where parts cannot be started at all.
  virtual Result<void> Run(const std::filesystem::path& folder, const std::vector<size_t>& parts,
                           const std::function<void()>& waiting) = 0;
};

// A process for each part, as many at a time as there are cores. `program` is this binary.
std::unique_ptr<PartRunner> ProcessRunner(std::filesystem::path program);
// An array job of an existing Slurm cluster, by `sbatch` with the given further options (partition,
// account, memory, ...). The folder must be the same place on all nodes.
std::unique_ptr<PartRunner> SlurmRunner(std::filesystem::path program,
                                        std::vector<std::string> options);

struct PartsOptions {
  size_t parts = 0;     // 0: as many as there are inputs, at most 256
  size_t attempts = 3;  // of each part
};

// Mines `inputs` in parts and merges what they leave. A part that leaves nothing is run again; one
// that never does is run file by file, and what still fails is in `skipped` (or an error, where a
// person named the file). Parts already done in `folder` for the same inputs are not done again, so
// a run that was interrupted goes on. A profile counts once, however often it was mined. Errors: as
// MineFleet; kInput where `folder` holds the parts of other inputs.
Result<MinedFleet> MineParts(const std::vector<trace::ProfileInput>& inputs,
                             const std::filesystem::path& folder, PartRunner& runner,
                             const PartsOptions& options,
                             const std::function<void(size_t done, size_t total)>& progress);

// What a part's process does: reads `part`.inputs.jsonl, mines, and writes `part`.json last, which
// says that it is done. Profiles that do not read are in it as such; that is no failure of the
// part.
Result<void> MinePart(const std::filesystem::path& part, const trace::Rules& rules);

}  // namespace roofmark::pipeline
