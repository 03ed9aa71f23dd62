// SPDX-License-Identifier: Apache-2.0
// PyTorch's execution traces (ExecutionTraceObserver): every operator with all its arguments, and
// no times. A profile of the same run names each operator by the same number ("Record function id"
// in Kineto, rf_id there), so the trace gives shapes to a profile that was recorded without.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>

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

struct ExecutionTrace {
  std::unordered_map<uint64_t, TracedArguments> by_id;  // by rf_id, where that is not 0
  uint64_t nodes = 0;
  std::string damage;  // empty where the document is sound
};

// Both schemas (1.0: input_shapes; 1.1: inputs.shapes, attrs). Errors: kIo, kInput.
Result<ExecutionTrace> ReadExecutionTrace(ByteSource source);
Result<ExecutionTrace> ReadExecutionTrace(const std::filesystem::path& path);

// Gives arguments to the operators of the profile that have none: those with the trace's number and
// name. `record_ids` are the numbers of the profile's operators by row (ReadRecordIds). Returns how
// many operators got arguments.
uint64_t AddArguments(const ExecutionTrace& trace, Profile& profile);

// NAME_et.json[.gz] beside NAME.json[.gz], or beside NAME_kineto.json[.gz]; empty where there is
// none.
std::filesystem::path FindExecutionTrace(const std::filesystem::path& profile);

}  // namespace roofmark::trace
