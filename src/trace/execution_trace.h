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

// How an operator of a profile got its arguments from an execution trace.
struct TracedFrom {
  uint32_t trace = kNone32;  // in TracedOps::names; kNone32: no trace knows the operator
  uint32_t run = 0;          // operators in the run of names that says it; 0: by number
  uint32_t places = 0;       // of the trace at which that run stands
  bool disputed = false;     // these disagree, so that nothing was given
};

// By row of a profile's operators, for whoever asks where a shape is from. Empty where no trace
// gave anything.
struct TracedOps {
  std::vector<std::string> names;  // of the traces' files
  std::vector<TracedFrom> by_op;

  const TracedFrom* Of(uint32_t row) const {
    return row < by_op.size() && by_op[row].trace != kNone32 ? &by_op[row] : nullptr;
  }
};

// Both schemas (1.0: input_shapes; 1.1: inputs.shapes, attrs). Errors: kIo, kInput.
Result<ExecutionTrace> ReadExecutionTrace(ByteSource source);
Result<ExecutionTrace> ReadExecutionTrace(const std::filesystem::path& path);

// Gives arguments to the operators of the profile that have none: those with the trace's number and
// name. Returns how many operators got arguments. Marks them in `traced`, where that is asked for,
// as given by the last of its names.
uint64_t AddArgumentsById(const ExecutionTrace& trace, Profile& profile,
                          TracedOps* traced = nullptr);
// Gives the arguments of a row of the trace to an operator of the profile.
void GiveArguments(const TracedArguments& arguments, uint32_t row, Profile& profile);
// Marks a row as known from the last of the traces. Does nothing where `traced` is nullptr.
void MarkTraced(TracedFrom from, uint32_t row, const Profile& profile, TracedOps* traced);

// NAME_et.json[.gz] beside NAME.json[.gz], or beside NAME_kineto.json[.gz]; empty where there is
// none.
std::filesystem::path FindExecutionTrace(const std::filesystem::path& profile);

}  // namespace roofmark::trace
