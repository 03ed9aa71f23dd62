// SPDX-License-Identifier: Apache-2.0
// Runs a trusted tool (a compiler's version query, nvidia-smi, ncu) and collects what it prints.
// Untrusted code never runs through here: worker/sandbox.h starts that.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace roofmark {

struct CommandOptions {
  double timeout_s = 60;
  size_t max_output = 16 << 20;                // further output is read and dropped
  std::vector<std::string> extra_environment;  // "NAME=value", on top of ours
  std::string folder;                          // working folder; empty = ours
};

struct CommandResult {
  int exit_code = 0;  // 128 + signal when killed by one
  std::string out;    // stdout
  std::string err;    // stderr
};

// Errors: kNotFound when argv[0] cannot be started, kTimeout (its whole process group is killed).
// A non-zero exit code is a result, not an error.
Result<CommandResult> RunCommand(const std::vector<std::string>& argv,
                                 const CommandOptions& options = {});

// The last line that a command prints on stdout, such as its version. Errors: as RunCommand, and
// kNotFound with the last line of stderr when it ends with another code than 0.
Result<std::string> LastLineOf(const std::vector<std::string>& argv);

// The full path of a program on PATH, or kNotFound.
Result<std::string> FindProgram(const std::string& name);

}  // namespace roofmark
