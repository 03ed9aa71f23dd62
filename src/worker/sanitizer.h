// SPDX-License-Identifier: Apache-2.0
// One call of a candidate under NVIDIA's compute-sanitizer, which sees reads and writes outside of
// allocations (memcheck) and races in shared memory (racecheck). The tool takes the place of our
// meter in the process and cannot share it, so the call has a process of its own, in a sandbox like
// a worker's: without a judge, and with each tensor in an allocation of its own size
// (python/roofmark_sanitize.py).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace roofmark::worker {

// $ROOFMARK_SANITIZER, or compute-sanitizer on PATH or where CUDA installs it. Errors: kNotFound,
// with how to get it.
Result<std::filesystem::path> FindSanitizer();

struct SanitizerReport {
  int64_t errors = 0;
  std::string first;  // in the tool's words, with where it was
};
// Reads what the tool printed. Errors: kInput where its summary is missing: it did not come to its
// end.
Result<SanitizerReport> ReadSanitizerReport(std::string_view text);

struct SanitizedCall {
  std::filesystem::path sanitizer;
  std::string tool;               // "memcheck" or "racecheck"
  std::filesystem::path folder;   // mounted read-only at /candidate
  std::string program;            // what is to be loaded, below /candidate
  std::filesystem::path scratch;  // mounted writable at /scratch; holds request.json
  double timeout_s = 0;
};
// Errors: kDevice where the tool does not run here, or not to its end, and where the call fails
// without a finding; kTimeout.
Result<SanitizerReport> RunSanitized(const SanitizedCall& call);

}  // namespace roofmark::worker
