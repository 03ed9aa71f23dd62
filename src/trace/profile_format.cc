// SPDX-License-Identifier: Apache-2.0
#include "trace/profile_format.h"

#include <fmt/format.h>

#include <array>
#include <string>

#include "trace/byte_source.h"
#include "trace/sqlite_rows.h"

namespace roofmark::trace {
namespace {

namespace fs = std::filesystem;

constexpr size_t kHead = 64 << 10;

// The keys of the outermost object that begin in `head`, in order: calls visit(key) until it says
// true. Understands strings and nesting, and nothing else of JSON.
template <typename Visit>
bool AnyTopLevelKey(std::string_view head, Visit visit) {
  int depth = 0;
  bool key_may_come = false;
  for (size_t at = 0; at < head.size(); ++at) {
    const char byte = head[at];
    if (byte == '{' || byte == '[') {
      ++depth;
      key_may_come = depth == 1;
    } else if (byte == '}' || byte == ']') {
      --depth;
    } else if (byte == ',' && depth == 1) {
      key_may_come = true;
    } else if (byte == '"') {
      size_t end = at + 1;
      while (end < head.size() && head[end] != '"') end += head[end] == '\\' ? 2 : 1;
      if (end >= head.size()) return false;
      if (depth == 1 && key_may_come && visit(head.substr(at + 1, end - at - 1))) return true;
      key_may_come = false;
      at = end;
    }
  }
  return false;
}

bool IsCsvHeader(std::string_view line) {
  const auto names = [&](std::string_view name) {
    return line.find(name) != std::string_view::npos;
  };
  return names("Start_Timestamp") && names("End_Timestamp");
}

Result<ProfileFormat> FormatOfTables(const fs::path& path) {
  const SqliteRows rows = TRY(SqliteRows::OpenFile(path));
  bool rocpd = false;
  for (const std::string& table : rows.tables()) {
    if (table.starts_with("CUPTI_ACTIVITY_KIND_") || table == "StringIds") {
      return ProfileFormat::kNsys;
    }
    if (table == "rocpd_op" || table == "rocpd_api") return ProfileFormat::kRpd;
    if (table.starts_with("rocpd_kernel_dispatch")) rocpd = true;
  }
  if (rocpd) return ProfileFormat::kRocpd;
  return Fail(
      ErrorKind::kInput,
      fmt::format("{}: an SQLite database, but none of Nsight Systems (CUPTI_ACTIVITY_KIND_*)"
                  " or rocprofv3 (rocpd_kernel_dispatch_*)",
                  path.string()));
}

// What people hand over instead of a profile, and what to do about it.
struct Foreign {
  std::string_view magic;
  size_t at;
  std::string_view advice;
};
constexpr std::array<Foreign, 5> kForeign = {{
    {"ustar", 257, "a tar archive: unpack it (tar xf) and name the profile inside"},
    {"PK\x03\x04", 0, "a zip archive: unpack it and name the profile inside"},
    {"QDSTRM", 0, "a raw Nsight Systems stream: import it with QdstrmImporter, then nsys export"},
    {"NVSY", 0, "a report of Nsight Systems: nsys export --type sqlite REPORT.nsys-rep"},
    {"PAR1", 0, "Parquet: export with nsys export --type sqlite instead"},
}};

}  // namespace

std::string_view FormatName(ProfileFormat format) {
  switch (format) {
    case ProfileFormat::kKineto:
      return "kineto";
    case ProfileFormat::kNsys:
      return "nsys";
    case ProfileFormat::kRocpd:
      return "rocpd";
    case ProfileFormat::kRpd:
      return "rpd";
    case ProfileFormat::kRocprofJson:
      return "rocprof-json";
    case ProfileFormat::kRocprofCsv:
      return "rocprof-csv";
    case ProfileFormat::kExecutionTrace:
      return "execution-trace";
    case ProfileFormat::kUnknown:
      break;
  }
  return "unknown";
}

bool IsSqlite(std::string_view head) {
  return head.starts_with(std::string_view("SQLite format 3\0", 16));
}

ProfileFormat DetectText(std::string_view head) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  const size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return ProfileFormat::kUnknown;
  head.remove_prefix(begin);
  if (head.front() == '[') return ProfileFormat::kKineto;
  if (head.front() == '{') {
    ProfileFormat format = ProfileFormat::kKineto;
    bool schema = false;
    AnyTopLevelKey(head, [&](std::string_view key) {
      if (key == "rocprofiler-sdk-tool") format = ProfileFormat::kRocprofJson;
      if (key == "nodes" && schema) format = ProfileFormat::kExecutionTrace;
      schema = schema || key == "schema";
      return key == "traceEvents" || format != ProfileFormat::kKineto;
    });
    return format;
  }
  return IsCsvHeader(head.substr(0, head.find('\n'))) ? ProfileFormat::kRocprofCsv
                                                      : ProfileFormat::kUnknown;
}

namespace {

Result<std::string> ReadHead(ByteSource& source) {
  std::string head(kHead, '\0');
  size_t filled = 0;
  while (filled < head.size()) {
    const size_t got = TRY(source.Read(head.data() + filled, head.size() - filled));
    if (got == 0) break;
    filled += got;
  }
  head.resize(filled);
  return head;
}

}  // namespace

bool IsRocprofCsv(const fs::path& path) {
  auto source = ByteSource::OpenFile(path);
  if (!source) return false;
  const auto head = ReadHead(*source);
  return head && DetectText(*head) == ProfileFormat::kRocprofCsv;
}

Result<ProfileFormat> DetectFormat(const fs::path& path) {
  ByteSource source = TRY(ByteSource::OpenFile(path));
  const std::string head = TRY(ReadHead(source));
  if (IsSqlite(head)) {
    if (!source.compressed()) return TRY(FormatOfTables(path));
    return Fail(ErrorKind::kInput,
                fmt::format("{}: a compressed SQLite database, which cannot be read in place: "
                            "unpack it first",
                            path.string()));
  }
  for (const Foreign& foreign : kForeign) {
    if (head.size() > foreign.at &&
        std::string_view(head).substr(foreign.at).starts_with(foreign.magic)) {
      return Fail(ErrorKind::kInput, fmt::format("{}: {}", path.string(), foreign.advice));
    }
  }
  const ProfileFormat format = DetectText(head);
  // Kineto's reader says best what is wrong with a text.
  return format == ProfileFormat::kUnknown ? ProfileFormat::kKineto : format;
}

bool IsProfileName(std::string_view name) {
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) {
      name.remove_suffix(packed.size());
      return name.ends_with(".json") || name.ends_with("_kernel_trace.csv");
    }
  }
  for (const std::string_view ending : {".json", ".sqlite", ".db", ".rpd", "_kernel_trace.csv"}) {
    if (name.ends_with(ending)) return true;
  }
  return false;
}

}  // namespace roofmark::trace
