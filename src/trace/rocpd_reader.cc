// SPDX-License-Identifier: Apache-2.0
// Dispatches are read before the calls, so that only calls that launched something are kept.
#include "trace/rocpd_reader.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "base/json.h"
#include "trace/profile_rows.h"
#include "trace/rocm_names.h"

namespace roofmark::trace {
namespace {

constexpr std::string_view kDispatches = "rocpd_kernel_dispatch";

// What the tables that hold numbers for numbers say: rows by id, in order of their ids.
class Numbers {
 public:
  void Add(int64_t id, int64_t value) {
    sorted_ = sorted_ && (pairs_.empty() || pairs_.back().first <= id);
    pairs_.emplace_back(id, value);
  }
  const int64_t* Find(int64_t id) {
    if (!sorted_) std::ranges::stable_sort(pairs_, {}, &std::pair<int64_t, int64_t>::first);
    sorted_ = true;
    const auto found =
        std::ranges::lower_bound(pairs_, id, {}, &std::pair<int64_t, int64_t>::first);
    return found == pairs_.end() || found->first != id ? nullptr : &found->second;
  }

 private:
  std::vector<std::pair<int64_t, int64_t>> pairs_;
  bool sorted_ = true;
};

// Where a dispatch or region ran: in columns of its own (schema 3) or of its track (schema 4).
struct Track {
  int64_t agent = -1;
  int64_t stream = 0;
  int64_t thread = 0;
};

// One run of a rocpd file: the tables with one suffix.
class RocpdRun {
 public:
  RocpdRun(SqliteRows& rows, Profile& profile, ProfileRows& out, std::string suffix, uint32_t run)
      : rows_(rows),
        profile_(profile),
        out_(out),
        suffix_(std::move(suffix)),
        run_(run),
        strings_(rows, "rocpd_string" + suffix_, "id", "string"),
        display_names_(rows, "rocpd_info_kernel_symbol" + suffix_, "id", "display_name"),
        symbols_(rows, "rocpd_info_kernel_symbol" + suffix_, "id", "kernel_name"),
        details_(rows, "rocpd_event" + suffix_, "id", "extdata") {}

  Result<void> Read() {
    TRY(ReadAgents());
    TRY(ReadTracks());
    TRY(ReadTimestamps());
    TRY(ReadEvents());
    TRY(ReadDispatches());
    TRY(ReadCopies());
    return ReadRegions();
  }

 private:
  std::string Table(const char* name) const { return name + suffix_; }
  Result<void> ReadAgents();
  Result<void> ReadTracks();
  Result<void> ReadTimestamps();
  Result<void> ReadEvents();
  Result<void> ReadDispatches();
  Result<void> ReadCopies();
  Result<void> ReadRegions();

  TextId KernelName(int64_t id) {
    const auto [entry, fresh] = kernel_names_.try_emplace(id, kNoText);
    if (!fresh) return entry->second;
    std::string_view name = display_names_.Find(id);
    if (name.empty()) name = KernelOfSymbol(symbols_.Find(id));
    return entry->second = name.empty() ? out_.NamelessKernel(id) : profile_.text.Intern(name);
  }
  TextId String(int64_t id) {
    const auto [entry, fresh] = texts_.try_emplace(id, kNoText);
    if (fresh) entry->second = profile_.text.Intern(strings_.Find(id));
    return entry->second;
  }
  // Runs number their calls alike.
  uint64_t Correlation(int64_t event) {
    const int64_t* stack = stacks_.Find(event);
    if (stack == nullptr || *stack == 0) return kNoId;
    return OfRun(run_, *stack);
  }
  int32_t Device(int64_t agent) {
    const auto found = devices_.find(agent);
    return found == devices_.end() ? static_cast<int32_t>(agent) : found->second;
  }
  // Times of columns `start` and `start + 1`, or of the timestamps that the two after them name.
  bool Times(const SqliteRow& row, size_t start, RowTimes& times) {
    if (row.Has(start) && row.Has(start + 1)) {
      times = {row.Int(start), row.Int(start + 1)};
    } else {
      const int64_t* begin = timestamps_.Find(row.Int(start + 2));
      const int64_t* end = timestamps_.Find(row.Int(start + 3));
      if (begin == nullptr || end == nullptr) {
        out_.Damaged();
        return false;
      }
      times = {*begin, *end};
    }
    return out_.Take(times);
  }

  SqliteRows& rows_;
  Profile& profile_;
  ProfileRows& out_;
  std::string suffix_;
  uint32_t run_;
  SqliteRows::Lookup strings_;
  SqliteRows::Lookup display_names_;
  SqliteRows::Lookup symbols_;
  SqliteRows::Lookup details_;
  std::unordered_map<int64_t, TextId> kernel_names_;
  std::unordered_map<int64_t, TextId> texts_;
  std::unordered_map<int64_t, int32_t> devices_;  // agents that are GPUs
  std::unordered_map<int64_t, Track> tracks_;
  Numbers timestamps_;
  Numbers stacks_;      // of events
  Numbers categories_;  // of events
  std::unordered_set<uint64_t> launched_;
};

Result<void> RocpdRun::ReadAgents() {
  constexpr std::array kColumns = {"id",           "type",       "type_index", "logical_index",
                                   "product_name", "model_name", "name"};
  return rows_.Scan(Table("rocpd_info_agent"), kColumns, [&](const SqliteRow& row) {
    if (!row.Has(0) || row.Text(1) != "GPU") return;
    devices_[row.Int(0)] = static_cast<int32_t>(row.IntOr(2, row.IntOr(3, row.Int(0))));
    for (size_t name = 4; name <= 6 && profile_.device_name.empty(); ++name) {
      profile_.device_name = row.Text(name);
    }
  });
}

Result<void> RocpdRun::ReadTracks() {
  constexpr std::array kColumns = {"id", "agent_id", "stream_id", "tid"};
  return rows_.Scan(Table("rocpd_track"), kColumns, [&](const SqliteRow& row) {
    tracks_[row.Int(0)] = {row.IntOr(1, -1), row.Int(2), row.Int(3)};
  });
}

Result<void> RocpdRun::ReadTimestamps() {
  constexpr std::array kColumns = {"id", "value"};
  return rows_.Scan(Table("rocpd_timestamp"), kColumns,
                    [&](const SqliteRow& row) { timestamps_.Add(row.Int(0), row.Int(1)); });
}

Result<void> RocpdRun::ReadEvents() {
  constexpr std::array kColumns = {"id", "stack_id", "category_id"};
  return rows_.Scan(Table("rocpd_event"), kColumns, [&](const SqliteRow& row) {
    stacks_.Add(row.Int(0), row.Int(1));
    categories_.Add(row.Int(0), row.Int(2));
  });
}

Result<void> RocpdRun::ReadDispatches() {
  constexpr std::array kColumns = {"start",     "end",       "start_id", "end_id",  "agent_id",
                                   "stream_id", "kernel_id", "event_id", "track_id"};
  return rows_.Scan(Table("rocpd_kernel_dispatch"), kColumns, [&](const SqliteRow& row) {
    RowTimes times;
    if (!Times(row, 0, times)) return;
    const Track track = row.Has(8) ? tracks_[row.Int(8)] : Track{row.IntOr(4, -1), row.Int(5), 0};
    const uint64_t correlation = Correlation(row.Int(7));
    launched_.insert(correlation);
    out_.Add({.start_ns = times.start_ns,
              .dur_ns = times.end_ns - times.start_ns,
              .correlation = correlation,
              .name = KernelName(row.Int(6)),
              .device = Device(track.agent),
              .stream = out_.streams.Of(OfRun(run_, track.stream))});
  });
}

Result<void> RocpdRun::ReadCopies() {
  constexpr std::array kColumns = {"start",     "end",          "start_id",
                                   "end_id",    "dst_agent_id", "src_agent_id",
                                   "stream_id", "name_id",      "event_id"};
  return rows_.Scan(Table("rocpd_memory_copy"), kColumns, [&](const SqliteRow& row) {
    RowTimes times;
    if (!Times(row, 0, times)) return;
    const bool to_device = devices_.contains(row.Int(4));
    const uint64_t correlation = Correlation(row.Int(8));
    launched_.insert(correlation);
    out_.Add({.start_ns = times.start_ns,
              .dur_ns = times.end_ns - times.start_ns,
              .correlation = correlation,
              .name = String(row.Int(7)),
              .device = Device(row.Int(to_device ? 4 : 5)),
              .stream = out_.streams.Of(OfRun(run_, row.Int(6))),
              .kind = LaunchKind::kCopy});
  });
}

// A roctx range is stored under its call's name, its text in the event's extra data.
std::string MarkerText(std::string_view name, std::string_view details) {
  if (!name.starts_with("roctx") || details.size() < 3) return std::string(name);
  const auto json = Json::Parse(details);
  if (!json || !json->is_object()) return std::string(name);
  const Json* message = json->Find("message");
  return message != nullptr && message->is_string() ? message->as_string() : std::string(name);
}

Result<void> RocpdRun::ReadRegions() {
  constexpr std::array kColumns = {"start", "end",     "start_id", "end_id",
                                   "tid",   "name_id", "event_id", "track_id"};
  return rows_.Scan(Table("rocpd_region"), kColumns, [&](const SqliteRow& row) {
    const TextId name = String(row.Int(5));
    const std::string_view text = profile_.text.Text(name);
    const bool call = IsHipCall(text);
    const uint64_t correlation = Correlation(row.Int(6));
    const bool launches = correlation != kNoId && launched_.contains(correlation);
    if ((call && !launches) || IsOtherApiCall(text)) return out_.Skip();
    RowTimes times;
    if (!Times(row, 0, times)) return;
    const int64_t tid = row.Has(7) ? tracks_[row.Int(7)].thread : row.Int(4);
    const uint32_t thread = out_.threads.Of(OfRun(run_, tid));
    if (call) {
      out_.AddCall(times, correlation, name, thread);
      return;
    }
    const TextId marker = profile_.text.Intern(MarkerText(text, details_.Find(row.Int(6))));
    out_.AddMarker(times, marker, thread);
  });
}

void Finish(Profile& profile, const SqliteRows& rows) {
  profile.bytes = profile.stored_bytes = rows.stored_bytes();
  profile.loss.damage = rows.damage();
}

}  // namespace

Result<Profile> ReadRocpd(SqliteRows rows) {
  Profile profile;
  profile.format = ProfileFormat::kRocpd;
  profile.vendor = "rocm";
  ProfileRows out(profile);
  uint32_t run = 0;
  const std::vector<std::string> tables = rows.tables();
  for (const std::string& table : tables) {
    if (!table.starts_with(kDispatches)) continue;
    const std::string suffix = table.substr(kDispatches.size());
    TRY(RocpdRun(rows, profile, out, suffix, run++).Read());
    constexpr std::array kPair = {"tag", "value"};
    TRY(rows.Scan("rocpd_metadata" + suffix, kPair, [&](const SqliteRow& row) {
      if (row.Text(0) == "schema_version") profile.version = row.Text(1);
    }));
  }
  Finish(profile, rows);
  return profile;
}

namespace {

class RpdReader {
 public:
  explicit RpdReader(SqliteRows& rows)
      : rows_(rows), out_(profile_), strings_(rows, "rocpd_string", "id", "string") {}

  Result<Profile> Run() {
    profile_.format = ProfileFormat::kRpd;
    profile_.vendor = "rocm";
    TRY(ReadTies());
    TRY(ReadOperations());
    TRY(ReadCalls());
    Finish(profile_, rows_);
    return std::move(profile_);
  }

 private:
  Result<void> ReadTies();
  Result<void> ReadOperations();
  Result<void> ReadCalls();
  TextId String(int64_t id) {
    const auto [entry, fresh] = texts_.try_emplace(id, kNoText);
    if (fresh) entry->second = profile_.text.Intern(KernelOfSymbol(strings_.Find(id)));
    return entry->second;
  }

  SqliteRows& rows_;
  Profile profile_;
  ProfileRows out_;
  SqliteRows::Lookup strings_;
  std::unordered_map<int64_t, TextId> texts_;
  std::unordered_map<int64_t, int64_t> call_of_;  // by operation
  std::unordered_set<uint64_t> launched_;
};

Result<void> RpdReader::ReadTies() {
  constexpr std::array kColumns = {"api_id", "op_id"};
  return rows_.Scan("rocpd_api_ops", kColumns,
                    [&](const SqliteRow& row) { call_of_.try_emplace(row.Int(1), row.Int(0)); });
}

// Sources: roctracer's names of operations (KernelExecution, CopyHostToDevice, FillBuffer) and
// rocprofiler-sdk's (KERNEL_DISPATCH, MEMORY_COPY_*). Barriers and markers take no device time.
std::optional<LaunchKind> KindOfOperation(std::string_view type) {
  const auto holds = [&](std::string_view part) { return type.find(part) != type.npos; };
  if (holds("Kernel") || holds("KERNEL")) return LaunchKind::kKernel;
  if (holds("Copy") || holds("COPY") || holds("Memcpy")) return LaunchKind::kCopy;
  if (holds("Fill") || holds("FILL") || holds("Memset")) return LaunchKind::kFill;
  return std::nullopt;
}

Result<void> RpdReader::ReadOperations() {
  constexpr std::array kColumns = {"id",  "gpuId",          "queueId",  "start",
                                   "end", "description_id", "opType_id"};
  return rows_.Scan("rocpd_op", kColumns, [&](const SqliteRow& row) {
    const TextId type = String(row.Int(6));
    const std::optional<LaunchKind> kind = KindOfOperation(profile_.text.Text(type));
    if (!kind) return out_.Skip();
    RowTimes times{row.Int(3), row.Int(4)};
    if (!row.Has(3) || !row.Has(4)) return out_.Damaged();
    if (!out_.Take(times)) return;
    const auto call = call_of_.find(row.Int(0));
    const uint64_t correlation =
        call == call_of_.end() ? kNoId : static_cast<uint64_t>(call->second);
    launched_.insert(correlation);
    const TextId described = String(row.Int(5));
    out_.Add({.start_ns = times.start_ns,
              .dur_ns = times.end_ns - times.start_ns,
              .correlation = correlation,
              .name = profile_.text.Text(described).empty() ? type : described,
              .device = static_cast<int32_t>(row.IntOr(1, -1)),
              .stream = out_.streams.Of(static_cast<uint64_t>(row.Int(2))),
              .kind = *kind});
  });
}

Result<void> RpdReader::ReadCalls() {
  constexpr std::array kColumns = {"id", "pid", "tid", "start", "end", "apiName_id", "args_id"};
  return rows_.Scan("rocpd_api", kColumns, [&](const SqliteRow& row) {
    const TextId name = String(row.Int(5));
    const bool marker = profile_.text.Text(name) == "UserMarker";
    const auto correlation = static_cast<uint64_t>(row.Int(0));
    if (!marker && !launched_.contains(correlation)) return out_.Skip();
    RowTimes times{row.Int(3), row.Int(4)};
    if (!row.Has(3) || !row.Has(4)) return out_.Damaged();
    if (!out_.Take(times)) return;
    const uint32_t thread = out_.threads.Of(static_cast<uint64_t>(row.Int(1)) << 32 ^
                                            static_cast<uint64_t>(row.Int(2)));
    if (!marker) {
      out_.AddCall(times, correlation, name, thread);
      return;
    }
    out_.AddMarker(times, String(row.Int(6)), thread);
  });
}

}  // namespace

Result<Profile> ReadRpd(SqliteRows rows) {
  return RpdReader(rows).Run();
}

}  // namespace roofmark::trace
