// SPDX-License-Identifier: Apache-2.0
// From a file or folder to something that a worker can load. Compiling is untrusted (`#include`,
// `.incbin` and constexpr are attacks too), so compilers run in the sandbox that worker/ provides;
// this module only says which command to run and what it makes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/candidate.h"
#include "model/operator.h"

namespace roofmark::candidate {

// Reads a source file, or a folder with candidate.toml {name, lane, role, sources, entry =
// "file::function", options, include, compiler, binding}; docs/lanes.md explains each. The lane
// comes from candidate.toml, or from the extension and, for Python, from its imports; a Python file
// can say ROLE = "baseline" itself. Errors: kInput naming file and way out.
Result<Candidate> ReadCandidate(const std::filesystem::path& path);

// The content_hash of a candidate, from its files as they are now. Errors: kIo, kNotFound.
Result<std::string> ContentHashOf(const Candidate& candidate);

// The text of "roofmark/<operator>.h": the argument struct of native candidates (docs in abi.h).
std::string ContractHeader(const Operator& op);
// The text of "roofmark/abi.h".
std::string AbiHeader();
// The text of "roofmark/driver.h", for host code with compiler = "nvrtc", and of
// "roofmark/nvrtc.cc", the program that compiles its device code.
std::string DriverHeader();
std::string NvrtcProgramText();

// How to compile a native candidate. Paths are as the sandbox sees them.
struct BuildPlan {
  std::vector<std::string> command;          // argv; empty when the lane compiles in its worker
  std::filesystem::path library;             // made by the command
  std::filesystem::path device_code;         // folder where kept cubins appear; empty without
  std::vector<std::filesystem::path> shown;  // what the sandbox must show beside the system
};
// `source_dir` holds the candidate's sources, `include_dir` the generated headers, `out_dir` is
// writable. `arch` is the device's ("sm_90"; compiled for "sm_90a"); ignored on a CPU. `nvrtc` is
// the library, where one was found. Errors: kNotFound when the compiler or a header-only library is
// missing, with what to install; kInput for sources that do not fit the compiler.
Result<BuildPlan> PlanBuild(const Candidate& candidate, const std::filesystem::path& source_dir,
                            const std::filesystem::path& include_dir,
                            const std::filesystem::path& out_dir, const std::string& arch,
                            const std::string& nvrtc = "");

}  // namespace roofmark::candidate
