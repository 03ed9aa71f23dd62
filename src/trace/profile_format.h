// SPDX-License-Identifier: Apache-2.0
// Which profiler wrote a file. Its content decides, never its name: files are renamed, and most
// profilers write .json.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.h"
#include "trace/profile.h"

namespace roofmark::trace {

// "kineto", "nsys", "rocpd", "rpd", "rocprof-json", "rocprof-csv", "execution-trace".
std::string_view FormatName(ProfileFormat format);

// Reads the beginning of the file (of what is inside, where it is compressed). Any other JSON is
// taken for Kineto's, whose reader then says what is missing.
// Errors: kNotFound, kIo, and kInput for what is no profile, with the way out (archives, reports of
// Nsight Systems that were not exported).
Result<ProfileFormat> DetectFormat(const std::filesystem::path& path);
// The same for the first bytes of an uncompressed file; kUnknown where they are no profile's.
// SQLite databases are told apart by their tables and are kUnknown here.
ProfileFormat DetectText(std::string_view head);
// Whether the file's first line is that of a sheet of rocprofv3; false where it does not read.
bool IsRocprofCsv(const std::filesystem::path& path);
bool IsSqlite(std::string_view head);

// Whether a file of this name may be a profile, for searching folders: the names that profilers
// write. A .csv is one only if rocprofv3 wrote it (NAME_kernel_trace.csv).
bool IsProfileName(std::string_view name);

}  // namespace roofmark::trace
