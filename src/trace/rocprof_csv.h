// SPDX-License-Identifier: Apache-2.0
// rocprofv3 --output-format csv: one file a kind of record. A profile is its NAME_kernel_trace.csv;
// NAME_hip_api_trace.csv, NAME_marker_api_trace.csv and NAME_memory_copy_trace.csv beside it are
// read too. Columns are found by the names in the first line: versions rename, add and omit them.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "trace/byte_source.h"
#include "trace/profile.h"

namespace roofmark::trace {

// Errors: kNotFound, kIo, and kInput where the first line lacks the times.
Result<Profile> ReadRocprofCsv(const std::filesystem::path& path);
// One file alone.
Result<Profile> ReadRocprofCsv(ByteSource source);

}  // namespace roofmark::trace
