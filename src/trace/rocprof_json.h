// SPDX-License-Identifier: Apache-2.0
// rocprofv3 --output-format json (NAME_results.json): dispatches, copies, HIP calls and roctx
// ranges of one or more processes. Source: a recorded file of rocprofv3 and rocprofiler-sdk's
// documentation. The document's tables of symbols are larger than what ran, so only the names of
// kernels that ran are kept.
#pragma once

#include "base/result.h"
#include "trace/byte_source.h"
#include "trace/profile.h"

namespace roofmark::trace {

// Errors: kIo, and kInput where this is no such document.
Result<Profile> ReadRocprofJson(ByteSource source);

}  // namespace roofmark::trace
