// SPDX-License-Identifier: Apache-2.0
// Rows name kernels, calls and agents by numbers whose tables may follow later, so each process is
// resolved when its object ends.
#include "trace/rocprof_json.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "trace/event_fields.h"
#include "trace/json_cursor.h"
#include "trace/number_text.h"
#include "trace/profile_rows.h"
#include "trace/rocm_names.h"

namespace roofmark::trace {
namespace {

// One record of any kind; what it lacks keeps these values.
struct Record {
  int64_t start = INT64_MIN;
  int64_t end = INT64_MIN;
  int64_t thread = 0;
  int64_t correlation = 0;
  int64_t kind = -1;
  int64_t operation = -1;
  int64_t agent = 0;
  int64_t source_agent = 0;
  int64_t kernel = -1;
  int64_t queue = 0;
  int64_t stream = -1;
};

enum class Records { kDispatches, kCopies, kCalls, kMarkers };

class RocprofReader {
 public:
  explicit RocprofReader(ByteSource& source) : cursor_(source), out_(profile_) {}

  Result<Profile> Run();

 private:
  Result<void> Process();
  Result<void> Agents();
  Result<void> Agent();
  Result<void> Strings();
  Result<void> KindNames();
  Result<void> Messages();
  Result<void> Symbols();
  Result<void> Buffers();
  Result<void> ReadRecords(Records what);
  Result<Record> ReadRecord();
  Result<void> Member(const std::string& key, Record& record);
  void Take(Records what, const Record& record);
  void Resolve();

  // The number of a scalar; of an object such as {"handle": 3}, that of its member of this name.
  Result<int64_t> Number(std::string_view inner);

  JsonCursor cursor_;
  Profile profile_;
  ProfileRows out_;
  uint32_t run_ = 0;
  bool found_ = false;
  // Of the process being read.
  size_t first_kernel_ = 0;
  size_t first_copy_ = 0;
  size_t first_call_ = 0;
  size_t first_op_ = 0;
  std::vector<int64_t> kernel_ids_;                           // by kernel from first_kernel_
  std::vector<std::pair<int64_t, int64_t>> copy_operations_;  // kind, operation; also below
  std::vector<int32_t> copy_sources_;                         // agents, by copy
  std::vector<std::pair<int64_t, int64_t>> call_operations_;
  std::vector<std::pair<int64_t, int64_t>> op_operations_;
  std::vector<int64_t> op_correlations_;
  std::unordered_map<int64_t, std::string> symbols_;
  std::map<int64_t, std::vector<std::string>> operations_;  // names by kind
  std::map<int64_t, int32_t> agents_;                       // GPUs by handle
  std::unordered_map<int64_t, std::string> messages_;       // of markers by correlation
};

Result<int64_t> RocprofReader::Number(std::string_view inner) {
  const std::string raw = TRY(cursor_.Raw());
  if (!raw.starts_with('{')) return ParseInteger(raw).value_or(0);
  const size_t found = raw.find(fmt::format("\"{}\"", inner));
  const size_t colon = found == std::string::npos ? found : raw.find(':', found);
  if (colon == std::string::npos) return 0;
  const size_t end = raw.find_first_of(",}", colon);
  return ParseInteger(std::string_view(raw).substr(colon + 1, end - colon - 1)).value_or(0);
}

Result<Profile> RocprofReader::Run() {
  profile_.format = ProfileFormat::kRocprofJson;
  profile_.vendor = "rocm";
  if (!TRY(cursor_.EnterObject())) return Fail(ErrorKind::kInput, "no JSON object");
  std::string key;
  while (TRY(cursor_.NextKey(key))) {
    if (key != "rocprofiler-sdk-tool") {
      TRY(cursor_.SkipValue());
      continue;
    }
    found_ = true;
    if (!TRY(cursor_.EnterArray())) continue;
    while (TRY(cursor_.NextElement())) TRY(Process());
  }
  if (!found_) return Fail(ErrorKind::kInput, "no member rocprofiler-sdk-tool");
  out_.DropIdleCalls();
  profile_.loss.damage = cursor_.damage();
  return std::move(profile_);
}

Result<void> RocprofReader::Process() {
  first_kernel_ = profile_.kernels.size();
  first_copy_ = profile_.copies.size();
  first_call_ = profile_.calls.size();
  first_op_ = profile_.ops.size();
  if (!TRY(cursor_.EnterObject())) return {};
  std::string key;
  while (TRY(cursor_.NextKey(key))) {
    if (key == "agents") {
      TRY(Agents());
    } else if (key == "strings") {
      TRY(Strings());
    } else if (key == "kernel_symbols") {
      TRY(Symbols());
    } else if (key == "buffer_records") {
      TRY(Buffers());
    } else {
      TRY(cursor_.SkipValue());
    }
  }
  Resolve();
  ++run_;
  return {};
}

Result<void> RocprofReader::Agents() {
  if (!TRY(cursor_.EnterArray())) return {};
  while (TRY(cursor_.NextElement())) TRY(Agent());
  return {};
}

// Source: rocprofiler_agent_type_t: 1 is a CPU, 2 a GPU.
Result<void> RocprofReader::Agent() {
  if (!TRY(cursor_.EnterObject())) return {};
  int64_t handle = 0;
  int64_t type = 0;
  int64_t number = 0;
  std::string name;
  std::string key;
  while (TRY(cursor_.NextKey(key))) {
    if (key == "id") {
      handle = TRY(Number("handle"));
    } else if (key == "type") {
      type = TRY(Number(""));
    } else if (key == "logical_node_type_id") {
      number = TRY(Number(""));
    } else if (key == "product_name") {
      name = Unescape(TRY(cursor_.Scalar()));
    } else {
      TRY(cursor_.SkipValue());
    }
  }
  if (type != 2) return {};
  agents_[handle] = static_cast<int32_t>(number);
  if (profile_.device_name.empty()) profile_.device_name = name;
  return {};
}

Result<void> RocprofReader::Strings() {
  if (!TRY(cursor_.EnterObject())) return {};
  std::string key;
  while (TRY(cursor_.NextKey(key))) {
    if (key == "buffer_records") {
      TRY(KindNames());
    } else if (key == "marker_api") {
      TRY(Messages());
    } else {
      TRY(cursor_.SkipValue());
    }
  }
  return {};
}

// [{"kind": "HIP_RUNTIME_API", "operations": ["hipApiName", ...]}, ...], by number of kind.
Result<void> RocprofReader::KindNames() {
  if (!TRY(cursor_.EnterArray())) return {};
  int64_t kind = 0;
  for (; TRY(cursor_.NextElement()); ++kind) {
    if (!TRY(cursor_.EnterObject())) continue;
    std::string key;
    while (TRY(cursor_.NextKey(key))) {
      if (key != "operations") {
        TRY(cursor_.SkipValue());
        continue;
      }
      if (!TRY(cursor_.EnterArray())) continue;
      std::vector<std::string>& names = operations_[kind];
      names.clear();
      while (TRY(cursor_.NextElement())) names.push_back(Unescape(TRY(cursor_.Scalar())));
    }
  }
  return {};
}

// [{"key": correlation id, "value": text}, ...]
Result<void> RocprofReader::Messages() {
  if (!TRY(cursor_.EnterArray())) return {};
  while (TRY(cursor_.NextElement())) {
    if (!TRY(cursor_.EnterObject())) continue;
    std::string key;
    int64_t id = -1;
    std::string text;
    while (TRY(cursor_.NextKey(key))) {
      if (key == "key") {
        id = TRY(Number(""));
      } else if (key == "value") {
        text = Unescape(TRY(cursor_.Scalar()));
      } else {
        TRY(cursor_.SkipValue());
      }
    }
    messages_[id] = text;
  }
  return {};
}

Result<void> RocprofReader::Symbols() {
  if (!TRY(cursor_.EnterArray())) return {};
  while (TRY(cursor_.NextElement())) {
    if (!TRY(cursor_.EnterObject())) continue;
    std::string key;
    int64_t id = -1;
    std::string formatted;
    std::string symbol;
    while (TRY(cursor_.NextKey(key))) {
      if (key == "kernel_id") {
        id = TRY(Number(""));
      } else if (key == "formatted_kernel_name") {
        formatted = TRY(cursor_.Scalar());
      } else if (key == "kernel_name") {
        symbol = TRY(cursor_.Scalar());
      } else {
        TRY(cursor_.SkipValue());
      }
    }
    symbols_[id] = Unescape(formatted.empty() ? std::string(KernelOfSymbol(symbol)) : formatted);
  }
  return {};
}

Result<void> RocprofReader::Buffers() {
  if (!TRY(cursor_.EnterObject())) return {};
  std::string key;
  while (TRY(cursor_.NextKey(key))) {
    if (key == "kernel_dispatch") {
      TRY(ReadRecords(Records::kDispatches));
    } else if (key == "memory_copy") {
      TRY(ReadRecords(Records::kCopies));
    } else if (key == "hip_api") {
      TRY(ReadRecords(Records::kCalls));
    } else if (key == "marker_api") {
      TRY(ReadRecords(Records::kMarkers));
    } else if (TRY(cursor_.EnterArray())) {
      // Calls of other interfaces and allocations: no device time, but they are counted.
      while (TRY(cursor_.NextElement())) {
        TRY(cursor_.SkipValue());
        out_.Skip();
      }
    }
  }
  return {};
}

Result<void> RocprofReader::ReadRecords(Records what) {
  if (!TRY(cursor_.EnterArray())) return {};
  while (TRY(cursor_.NextElement())) {
    const uint64_t begin = cursor_.offset();
    const Record record = TRY(ReadRecord());
    if (record.start == INT64_MIN || record.end == INT64_MIN) {
      out_.Damaged(cursor_.offset() - begin);
    } else {
      Take(what, record);
    }
  }
  return {};
}

Result<Record> RocprofReader::ReadRecord() {
  Record record;
  std::string key;
  if (!TRY(cursor_.EnterObject())) return record;
  while (TRY(cursor_.NextKey(key))) {
    if (key != "dispatch_info") {
      TRY(Member(key, record));
      continue;
    }
    if (!TRY(cursor_.EnterObject())) continue;
    while (TRY(cursor_.NextKey(key))) TRY(Member(key, record));
  }
  return record;
}

Result<void> RocprofReader::Member(const std::string& key, Record& record) {
  struct Place {
    std::string_view key;
    std::string_view inner;
    int64_t Record::* member;
  };
  static constexpr Place kPlaces[] = {
      {"start_timestamp", "", &Record::start},
      {"end_timestamp", "", &Record::end},
      {"thread_id", "", &Record::thread},
      {"correlation_id", "internal", &Record::correlation},
      {"kind", "", &Record::kind},
      {"operation", "", &Record::operation},
      {"agent_id", "handle", &Record::agent},
      {"dst_agent_id", "handle", &Record::agent},
      {"src_agent_id", "handle", &Record::source_agent},
      {"kernel_id", "", &Record::kernel},
      {"queue_id", "handle", &Record::queue},
      {"stream_id", "handle", &Record::stream},
  };
  for (const Place& place : kPlaces) {
    if (key != place.key) continue;
    record.*place.member = TRY(Number(place.inner));
    return {};
  }
  return cursor_.SkipValue();
}

void RocprofReader::Take(Records what, const Record& record) {
  RowTimes times{record.start, record.end};
  if (!out_.Take(times)) return;
  const uint64_t correlation = record.correlation == 0 ? kNoId : OfRun(run_, record.correlation);
  const uint32_t thread = out_.threads.Of(OfRun(run_, record.thread));
  if (what == Records::kDispatches || what == Records::kCopies) {
    const bool copy = what == Records::kCopies;
    const int64_t stream = record.stream > 0 ? record.stream : record.queue;
    out_.Add({.start_ns = times.start_ns,
              .dur_ns = times.end_ns - times.start_ns,
              .correlation = correlation,
              .name = 0,
              // Agents are numbered when their table is known: handles are small.
              .device = static_cast<int32_t>(record.agent),
              .stream = out_.streams.Of(OfRun(run_, stream)),
              .kind = copy ? LaunchKind::kCopy : LaunchKind::kKernel});
    if (copy) {
      copy_operations_.emplace_back(record.kind, record.operation);
      copy_sources_.push_back(static_cast<int32_t>(record.source_agent));
    } else {
      kernel_ids_.push_back(record.kernel);
    }
    return;
  }
  if (what == Records::kCalls) {
    call_operations_.emplace_back(record.kind, record.operation);
    out_.AddCall(times, correlation, kNoText, thread);
    return;
  }
  op_operations_.emplace_back(record.kind, record.operation);
  op_correlations_.push_back(record.correlation);
  profile_.ops.push_back({.start_ns = times.start_ns,
                          .end_ns = times.end_ns,
                          .name = 0,
                          .thread = thread,
                          .annotation = true});
}

// Gives the rows of the process their names and devices.
void RocprofReader::Resolve() {
  const auto operation = [&](const std::pair<int64_t, int64_t>& of) {
    const auto kind = operations_.find(of.first);
    const auto at = static_cast<size_t>(of.second);
    return kind == operations_.end() || of.second < 0 || at >= kind->second.size()
               ? fmt::format("[operation {} of kind {}]", of.second, of.first)
               : kind->second[at];
  };
  const auto device = [&](int32_t handle) {
    const auto found = agents_.find(handle);
    return found == agents_.end() ? handle : found->second;
  };
  for (size_t i = 0; i < kernel_ids_.size(); ++i) {
    Launch kernel = profile_.kernels[first_kernel_ + i];
    const auto symbol = symbols_.find(kernel_ids_[i]);
    kernel.name = symbol == symbols_.end() || symbol->second.empty()
                      ? out_.NamelessKernel(kernel_ids_[i])
                      : profile_.text.Intern(symbol->second);
    kernel.device = device(kernel.device);
    profile_.kernels.Set(first_kernel_ + i, kernel);
  }
  for (size_t i = 0; i < copy_operations_.size(); ++i) {
    Launch copy = profile_.copies[first_copy_ + i];
    copy.name = profile_.text.Intern(operation(copy_operations_[i]));
    // A copy belongs to the GPU of its two ends, to the destination's where both are.
    copy.device = device(agents_.contains(copy.device) ? copy.device : copy_sources_[i]);
    profile_.copies.Set(first_copy_ + i, copy);
  }
  for (size_t i = 0; i < call_operations_.size(); ++i) {
    profile_.calls[first_call_ + i].name = profile_.text.Intern(operation(call_operations_[i]));
  }
  for (size_t i = 0; i < op_operations_.size(); ++i) {
    const auto message = messages_.find(op_correlations_[i]);
    profile_.ops[first_op_ + i].name = profile_.text.Intern(
        message == messages_.end() ? operation(op_operations_[i]) : message->second);
    ++profile_.user_annotations;
  }
  kernel_ids_.clear();
  copy_operations_.clear();
  copy_sources_.clear();
  call_operations_.clear();
  op_operations_.clear();
  op_correlations_.clear();
  symbols_.clear();
  operations_.clear();
  agents_.clear();
  messages_.clear();
}

}  // namespace

Result<Profile> ReadRocprofJson(ByteSource source) {
  Profile profile = TRY(RocprofReader(source).Run());
  profile.bytes = source.bytes();
  profile.stored_bytes = source.stored_bytes();
  return profile;
}

}  // namespace roofmark::trace
