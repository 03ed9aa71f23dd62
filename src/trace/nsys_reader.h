// SPDX-License-Identifier: Apache-2.0
// SQLite exports of Nsight Systems (nsys export --type sqlite), of every schema: columns are asked
// for by name and may be missing. Facts: the exporter's own comments in the schemas 2.9.1, 3.13.2
// and 3.25.0, and NVIDIA's user guide.
#pragma once

#include "base/result.h"
#include "trace/profile.h"
#include "trace/sqlite_rows.h"

namespace roofmark::trace {

// Kernels, copies, fills, runtime calls, NVTX ranges (PyTorch's become operators, with their sizes
// where recorded), nodes of graphs by their creation. A launch belongs to the call with its
// correlation id in the same process; several processes keep apart. Graphs that were recorded as a
// whole become launches named kWholeGraph.
// Errors: kIo.
Result<Profile> ReadNsys(SqliteRows rows);

}  // namespace roofmark::trace
