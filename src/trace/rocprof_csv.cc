// SPDX-License-Identifier: Apache-2.0
#include "trace/rocprof_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

#include "trace/csv_lines.h"
#include "trace/number_text.h"
#include "trace/profile_rows.h"
#include "trace/rocm_names.h"

namespace roofmark::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKernelTrace = "_kernel_trace.csv";

enum Column : uint8_t {
  kStart,
  kEnd,
  kKind,
  kAgent,
  kQueue,
  kStream,
  kThread,
  kProcess,
  kKernel,
  kKernelName,
  kFunction,
  kDirection,
  kSourceAgent,
  kDestinationAgent,
  kCorrelation,
  kDispatch,
  kCounter,
  kColumns
};

struct ColumnName {
  std::string_view name;
  Column column;
};
constexpr std::array<ColumnName, 19> kNames = {{
    {"Start_Timestamp", kStart},
    {"End_Timestamp", kEnd},
    {"Kind", kKind},
    {"Domain", kKind},
    {"Agent_Id", kAgent},
    {"Queue_Id", kQueue},
    {"Stream_Id", kStream},
    {"Thread_Id", kThread},
    {"Process_Id", kProcess},
    {"Kernel_Id", kKernel},
    {"Kernel_Name", kKernelName},
    {"Function", kFunction},
    {"Name", kFunction},
    {"Direction", kDirection},
    {"Source_Agent_Id", kSourceAgent},
    {"Destination_Agent_Id", kDestinationAgent},
    {"Correlation_Id", kCorrelation},
    {"Dispatch_Id", kDispatch},
    {"Counter_Name", kCounter},
}};

class CsvReader {
 public:
  CsvReader() : out_(profile_) {
    profile_.format = ProfileFormat::kRocprofCsv;
    profile_.vendor = "rocm";
  }

  // Adds the rows of one file.
  Result<void> Read(ByteSource source);
  // The same of a sheet that belongs to the kernels': one that does not read takes nothing from
  // them, and is damage of the whole.
  void ReadBeside(const fs::path& path);
  Profile Finish();

 private:
  Result<void> Header(const std::vector<std::string_view>& fields);
  void Take(const std::vector<std::string_view>& fields, size_t bytes);
  void TakeLaunch(LaunchKind kind, const RowTimes& times);
  void TakeRegion(const RowTimes& times);

  bool Has(Column column) const { return places_[column] != SIZE_MAX; }
  std::string_view Field(Column column) const {
    const size_t place = places_[column];
    return place < fields_->size() ? (*fields_)[place] : std::string_view();
  }
  int64_t Number(Column column) const { return ParseInteger(Field(column)).value_or(0); }
  // "Agent 4", or a number.
  static int32_t Agent(std::string_view text) {
    const size_t digits = text.find_first_of("0123456789");
    if (digits == std::string_view::npos) return -1;
    const int64_t number = ParseInteger(text.substr(digits)).value_or(-1);
    return number < 0 || number > INT32_MAX ? -1 : static_cast<int32_t>(number);
  }
  uint64_t Correlation() const {
    const int64_t id = Number(kCorrelation);
    return id == 0 ? kNoId : static_cast<uint64_t>(id);
  }

  Profile profile_;
  ProfileRows out_;
  std::array<size_t, kColumns> places_{};
  const std::vector<std::string_view>* fields_ = nullptr;
  std::unordered_set<int64_t> dispatches_;  // seen in files of counters
};

Result<void> CsvReader::Header(const std::vector<std::string_view>& fields) {
  places_.fill(SIZE_MAX);
  for (size_t i = 0; i < fields.size(); ++i) {
    for (const ColumnName& known : kNames) {
      if (fields[i] == known.name && places_[known.column] == SIZE_MAX) places_[known.column] = i;
    }
  }
  if (Has(kStart) && Has(kEnd)) return {};
  return Fail(ErrorKind::kInput,
              "the first line names no Start_Timestamp and End_Timestamp: no CSV of rocprofv3");
}

Result<void> CsvReader::Read(ByteSource source) {
  CsvLines lines(source);
  bool header = false;
  while (TRY(lines.Next())) {
    const bool blank =
        lines.fields().empty() || (lines.fields().size() == 1 && lines.fields()[0].empty());
    if (lines.broken()) {
      out_.Damaged(lines.bytes());
    } else if (blank) {
      continue;
    } else if (!header) {
      TRY(Header(lines.fields()));
      header = true;
    } else {
      Take(lines.fields(), lines.bytes());
    }
  }
  if (!header) return Fail(ErrorKind::kInput, "the file is empty");
  profile_.bytes += source.bytes();
  profile_.stored_bytes += source.stored_bytes();
  if (profile_.loss.damage.empty()) profile_.loss.damage = source.damage();
  return {};
}

void CsvReader::ReadBeside(const fs::path& path) {
  const auto read = [&]() -> Result<void> { return Read(TRY(ByteSource::OpenFile(path))); }();
  if (read || !profile_.loss.damage.empty()) return;
  profile_.loss.damage = fmt::format("{}: {}", path.filename().string(), read.error().message());
}

void CsvReader::Take(const std::vector<std::string_view>& fields, size_t bytes) {
  fields_ = &fields;
  const auto start = ParseInteger(Field(kStart));
  const auto end = ParseInteger(Field(kEnd));
  if (!start || !end) return out_.Damaged(bytes);
  RowTimes times{*start, *end};
  if (Has(kKernelName)) {
    // Files of counters have a row a counter: each dispatch counts once.
    if (Has(kCounter) && !dispatches_.insert(Number(kDispatch)).second) return out_.Skip();
    if (out_.Take(times)) TakeLaunch(LaunchKind::kKernel, times);
  } else if (Has(kDirection)) {
    if (out_.Take(times)) TakeLaunch(LaunchKind::kCopy, times);
  } else if (Has(kFunction) && !IsOtherApiCall(Field(kFunction))) {
    if (out_.Take(times)) TakeRegion(times);
  } else {
    out_.Skip();
  }
}

void CsvReader::TakeLaunch(LaunchKind kind, const RowTimes& times) {
  const bool kernel = kind == LaunchKind::kKernel;
  std::string_view agent = Field(kAgent);
  if (!kernel) {
    const bool from = Field(kDirection).find("DEVICE_TO_HOST") != std::string_view::npos;
    agent = Field(from ? kSourceAgent : kDestinationAgent);
  }
  const std::string_view text = kernel ? KernelOfSymbol(Field(kKernelName)) : Field(kDirection);
  const TextId name =
      text.empty() ? out_.NamelessKernel(Number(kKernel)) : profile_.text.Intern(text);
  const int64_t stream = Number(kStream) != 0 ? Number(kStream) : Number(kQueue);
  out_.Add({.start_ns = times.start_ns,
            .dur_ns = times.end_ns - times.start_ns,
            .correlation = Correlation(),
            .name = name,
            .device = Agent(agent),
            .stream = out_.streams.Of(static_cast<uint64_t>(stream)),
            .kind = kind});
}

void CsvReader::TakeRegion(const RowTimes& times) {
  const TextId name = profile_.text.Intern(Field(kFunction));
  const uint32_t thread = out_.threads.Of(static_cast<uint64_t>(Number(kProcess)) << 32 ^
                                          static_cast<uint64_t>(Number(kThread)));
  const bool marker = Field(kKind).find("MARKER") != std::string_view::npos;
  if (!marker && IsHipCall(Field(kFunction))) {
    out_.AddCall(times, Correlation(), name, thread);
    return;
  }
  out_.AddMarker(times, name, thread);
}

Profile CsvReader::Finish() {
  out_.DropIdleCalls();
  return std::move(profile_);
}

}  // namespace

Result<Profile> ReadRocprofCsv(ByteSource source) {
  CsvReader reader;
  TRY(reader.Read(std::move(source)));
  return reader.Finish();
}

Result<Profile> ReadRocprofCsv(const fs::path& path) {
  CsvReader reader;
  TRY(reader.Read(TRY(ByteSource::OpenFile(path))));
  const std::string text = path.string();
  const size_t found = text.rfind(kKernelTrace);
  if (found != std::string::npos) {
    const std::string stem = text.substr(0, found);
    const std::string packed = text.substr(found + kKernelTrace.size());  // ".gz" or nothing
    for (const char* kind : {"hip_api", "marker_api", "memory_copy"}) {
      const fs::path beside = stem + "_" + kind + "_trace.csv" + packed;
      if (!fs::exists(beside)) continue;
      reader.ReadBeside(beside);
    }
  }
  return reader.Finish();
}

}  // namespace roofmark::trace
