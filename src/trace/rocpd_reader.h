// SPDX-License-Identifier: Apache-2.0
// AMD's profile databases. rocpd is what rocprofv3 writes (schemas 3 and 4 of rocprofiler-sdk): one
// set of tables a run, told apart by a suffix, several runs in a file. rpd is the older
// rocmProfileData, which SGLang records on ROCm.
#pragma once

#include "base/result.h"
#include "trace/profile.h"
#include "trace/sqlite_rows.h"

namespace roofmark::trace {

// Dispatches, copies, HIP calls, and roctx ranges as annotations. A dispatch belongs to the call
// with its stack id (rocprofiler's internal correlation id) in the same run. Errors: kIo.
Result<Profile> ReadRocpd(SqliteRows rows);

// Operations of the device by their type, the calls that api_ops ties them to, and UserMarker
// ranges. Errors: kIo.
Result<Profile> ReadRpd(SqliteRows rows);

}  // namespace roofmark::trace
