// SPDX-License-Identifier: Apache-2.0
// One way into all readers: the content decides which.
#include <fmt/format.h>

#include "trace/nsys_reader.h"
#include "trace/profile.h"
#include "trace/profile_format.h"
#include "trace/rocpd_reader.h"
#include "trace/rocprof_csv.h"
#include "trace/rocprof_json.h"

namespace roofmark::trace {
namespace {

Result<Profile> ReadAs(ProfileFormat format, const std::filesystem::path& path,
                       const ReadOptions& options) {
  switch (format) {
    case ProfileFormat::kNsys:
      return ReadNsys(TRY(SqliteRows::OpenFile(path)));
    case ProfileFormat::kRocpd:
      return ReadRocpd(TRY(SqliteRows::OpenFile(path)));
    case ProfileFormat::kRpd:
      return ReadRpd(TRY(SqliteRows::OpenFile(path)));
    case ProfileFormat::kRocprofJson:
      return ReadRocprofJson(TRY(ByteSource::OpenFile(path)));
    case ProfileFormat::kRocprofCsv:
      return ReadRocprofCsv(path);
    case ProfileFormat::kExecutionTrace:
      return Fail(
          ErrorKind::kInput,
          "a PyTorch execution trace: it holds shapes and no times; put it beside its profile "
          "NAME.json as NAME_et.json");
    case ProfileFormat::kKineto:
    case ProfileFormat::kUnknown:
      break;
  }
  return ReadProfile(TRY(ByteSource::OpenFile(path)), options);
}

}  // namespace

Result<Profile> ReadProfile(const std::filesystem::path& path, const ReadOptions& options) {
  const ProfileFormat format = TRY_IN(DetectFormat(path), "reading a profile");
  return TRY_IN(ReadAs(format, path, options), "reading profile " + path.string());
}

}  // namespace roofmark::trace
