// SPDX-License-Identifier: Apache-2.0
// PyTorch's execution traces (ExecutionTraceObserver): every operator with all its arguments, and
// no times. A profile of the same run names each operator by the same number ("Record function id"
// in Kineto, rf_id there), so the trace gives shapes to a profile that was recorded without; where
// there are no numbers, sequences of names do (traced_names.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "trace/byte_source.h"
#include "trace/profile.h"

namespace roofmark::trace {

// Arguments of one operator, as Kineto writes them: JSON texts.
struct TracedArguments {
  std::string name;
  std::string dims;
  std::string types;
  std::string concrete;
};

struct TracedOp {
  uint64_t id = 0;      // of the node; grows in order of start
  uint64_t parent = 0;  // the node around it
  uint64_t thread = 0;
  TracedArguments arguments;
};

struct ExecutionTrace {
  std::vector<TracedOp> ops;                     // in order of the file
  std::unordered_map<uint64_t, uint32_t> by_id;  // rows of ops by rf_id, where that is not 0
  std::string damage;                            // empty where the document is sound
};

// Both schemas (1.0: input_shapes; 1.1: inputs.shapes, attrs). Errors: kIo, kInput.
Result<ExecutionTrace> ReadExecutionTrace(ByteSource source);
Result<ExecutionTrace> ReadExecutionTrace(const std::filesystem::path& path);

// Gives arguments to the operators of the profile that have none: those with the trace's number and
// name. Returns how many operators got arguments.
uint64_t AddArgumentsById(const ExecutionTrace& trace, Profile& profile);
// Gives the arguments of a row of the trace to an operator of the profile.
void GiveArguments(const TracedArguments& arguments, uint32_t row, Profile& profile);

// NAME_et.json[.gz] beside NAME.json[.gz], or beside NAME_kineto.json[.gz]; empty where there is
// none.
std::filesystem::path FindExecutionTrace(const std::filesystem::path& profile);

}  // namespace roofmark::trace
