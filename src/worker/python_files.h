// SPDX-License-Identifier: Apache-2.0
// The Python side of workers. Its text is part of this binary and appears in a sandbox as files, so
// that it is always of the same version as the judge and cannot be changed by a candidate.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "worker/sandbox_spec.h"

namespace roofmark::worker {

// Whose worker: candidates do not see what references are made of, and nobody but the importer sees
// how problems of other benchmarks are read.
enum class PythonAudience { kReference, kCandidate, kImporter };
void AddPythonFiles(PythonAudience audience, std::vector<TreeEntry>* tree);

// The command line of a Python worker; `role` is "candidate", "reference", "importer", or
// kRecompilerRole, which has a main program of its own without PyTorch.
inline constexpr std::string_view kRecompilerRole = "recompiler";
std::vector<std::string> PythonCommand(const std::string& interpreter, std::string_view role,
                                       std::string_view device);

}  // namespace roofmark::worker
