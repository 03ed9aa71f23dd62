// SPDX-License-Identifier: Apache-2.0
// Each table is read once. Kernels come first, so that of the calls only those are kept that
// launched something.
#include "trace/nsys_reader.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "trace/event_head.h"
#include "trace/nsys_names.h"
#include "trace/profile_rows.h"

namespace roofmark::trace {
namespace {

// Source: NVIDIA's user guide, ENUM_NSYS_EVENT_TYPE.
constexpr int64_t kPushPopRange = 59;
constexpr int64_t kStartEndRange = 60;

// A serialised id holds the process above the thread.
uint64_t ProcessOf(int64_t global_id) {
  return static_cast<uint64_t>(global_id) >> 24;
}

class NsysReader {
 public:
  explicit NsysReader(SqliteRows& rows)
      : rows_(rows), out_(profile_), strings_(rows, "StringIds", "id", "value") {}

  Result<Profile> Run() {
    profile_.format = ProfileFormat::kNsys;
    profile_.vendor = "cuda";
    TRY(ReadFacts());
    TRY(ReadGraphNodes());
    TRY(ReadKernels());
    TRY(ReadCopies("CUPTI_ACTIVITY_KIND_MEMCPY", LaunchKind::kCopy));
    TRY(ReadCopies("CUPTI_ACTIVITY_KIND_MEMSET", LaunchKind::kFill));
    TRY(ReadWholeGraphs());
    TRY(ReadCalls());
    TRY(ReadRanges());
    profile_.bytes = profile_.stored_bytes = rows_.stored_bytes();
    profile_.loss.damage = rows_.damage();
    return std::move(profile_);
  }

 private:
  Result<void> ReadFacts();
  Result<void> ReadGraphNodes();
  Result<void> ReadKernels();
  Result<void> ReadCopies(const char* table, LaunchKind kind);
  Result<void> ReadWholeGraphs();
  Result<void> ReadCalls();
  Result<void> ReadRanges();

  // The text of a StringIds number as it stands, looked up once.
  TextId String(int64_t id) {
    if (last_text_.second == kNoText || last_text_.first != id) {
      const auto [entry, fresh] = texts_.try_emplace(id, kNoText);
      if (fresh) entry->second = profile_.text.Intern(strings_.Find(id));
      last_text_ = *entry;
    }
    return last_text_.second;
  }
  TextId KernelName(int64_t id) {
    const auto [entry, fresh] = kernel_names_.try_emplace(id, kNoText);
    if (!fresh) return entry->second;
    const std::string name = KinetoKernelName(strings_.Find(id));
    return entry->second = name.empty() ? out_.NamelessKernel(id) : profile_.text.Intern(name);
  }
  // Processes number their calls from 1, so an id is one only together with its process.
  uint64_t Correlation(int64_t global_id, int64_t correlation) {
    return uint64_t{out_.processes.Of(ProcessOf(global_id))} << 32 |
           static_cast<uint32_t>(correlation);
  }
  // Of columns 0 and 1. False, and counted as damaged, where one is missing or they do not fit.
  bool TakeTimes(const SqliteRow& row, RowTimes& times) {
    const std::optional<int64_t> start = row.IntIf(0);
    const std::optional<int64_t> end = row.IntIf(1);
    if (!start || !end) {
      out_.Damaged();
      return false;
    }
    times = {*start, *end};
    return out_.Take(times);
  }
  // Of columns 4 and 5 of tables of launches.
  uint64_t LaunchCorrelation(const SqliteRow& row) {
    const std::optional<int64_t> number = row.IntIf(4);
    return number ? Correlation(row.Int(5), *number) : kNoId;
  }
  uint32_t NodeOf(int64_t global_pid, int64_t node) const;
  bool Launched(uint64_t correlation);
  uint64_t NodeKey(uint64_t process, int64_t node) const {
    return process * 0x9E3779B97F4A7C15U ^ static_cast<uint64_t>(node);
  }

  struct Node {
    GraphNode made;
    uint64_t original = 0;  // key of the node that this one is a clone of; 0 = none
  };

  SqliteRows& rows_;
  Profile profile_;
  ProfileRows out_;
  SqliteRows::Lookup strings_;
  std::unordered_map<int64_t, TextId> texts_;
  std::pair<int64_t, TextId> last_text_ = {0, kNoText};
  std::unordered_map<int64_t, TextId> kernel_names_;
  std::unordered_map<uint64_t, Node> nodes_;
  std::unordered_map<uint64_t, uint32_t> node_rows_;  // key of the original -> row in nodes
  Rows<uint64_t> launched_;                           // correlation ids of launches
  std::string scratch_;
  size_t next_launched_ = 0;  // where the last one was found
};

Result<void> NsysReader::ReadFacts() {
  constexpr std::array kGpu = {"id", "name"};
  int64_t least = INT64_MAX;
  TRY(rows_.Scan("TARGET_INFO_GPU", kGpu, [&](const SqliteRow& row) {
    if (!row.Has(0) || row.Int(0) >= least) return;
    least = row.Int(0);
    profile_.device_name = row.Text(1);
  }));
  constexpr std::array kStart = {"utcEpochNs"};
  TRY(rows_.Scan("TARGET_INFO_SESSION_START_TIME", kStart, [&](const SqliteRow& row) {
    if (row.Has(0) && !profile_.base_ns) profile_.base_ns = row.Int(0);
  }));
  constexpr std::array kPair = {"name", "value"};
  for (const char* table : {"META_DATA_EXPORT", "EXPORT_META_DATA"}) {
    TRY(rows_.Scan(table, kPair, [&](const SqliteRow& row) {
      if (row.Text(0) == "EXPORT_SCHEMA_VERSION") profile_.version = row.Text(1);
    }));
  }
  return {};
}

// Instantiation clones the nodes that were captured; the clone names its original.
Result<void> NsysReader::ReadGraphNodes() {
  constexpr std::array kColumns = {"start", "globalTid", "graphNodeId", "originalGraphNodeId"};
  for (const char* table : {"CUDA_GRAPH_NODE_EVENTS", "CUDA_GRAPH_EVENTS"}) {
    TRY(rows_.Scan(table, kColumns, [&](const SqliteRow& row) {
      out_.Skip();
      if (!row.Has(0) || !row.Has(2)) return;
      const uint64_t process = ProcessOf(row.Int(1));
      Node node{.made = {.start_ns = row.Int(0),
                         .thread = out_.threads.Of(static_cast<uint64_t>(row.Int(1)))}};
      if (row.Has(3) && row.Int(3) != 0 && row.Int(3) != row.Int(2)) {
        node.original = NodeKey(process, row.Int(3));
      }
      nodes_.try_emplace(NodeKey(process, row.Int(2)), node);
    }));
  }
  for (const auto& [key, node] : nodes_) {
    if (node_rows_.try_emplace(key, static_cast<uint32_t>(profile_.nodes.size())).second) {
      profile_.nodes.push_back(node.made);
    }
  }
  return {};
}

uint32_t NsysReader::NodeOf(int64_t global_pid, int64_t node) const {
  uint64_t key = NodeKey(ProcessOf(global_pid), node);
  auto found = nodes_.find(key);
  if (found == nodes_.end()) return kNone32;
  for (int step = 0; step < 8 && found->second.original != 0; ++step) {
    const auto original = nodes_.find(found->second.original);
    if (original == nodes_.end()) break;
    key = original->first;
    found = original;
  }
  return node_rows_.at(key);
}

Result<void> NsysReader::ReadKernels() {
  constexpr std::array kColumns = {"start",         "end",           "deviceId",
                                   "streamId",      "correlationId", "globalPid",
                                   "demangledName", "shortName",     "graphNodeId"};
  return rows_.Scan("CUPTI_ACTIVITY_KIND_KERNEL", kColumns, [&](const SqliteRow& row) {
    RowTimes times;
    if (!TakeTimes(row, times)) return;
    const uint64_t correlation = LaunchCorrelation(row);
    launched_.push_back(correlation);
    const std::optional<int64_t> demangled = row.IntIf(6);
    const Launch launch{.start_ns = times.start_ns,
                        .dur_ns = times.end_ns - times.start_ns,
                        .correlation = correlation,
                        .name = KernelName(demangled ? *demangled : row.Int(7)),
                        .device = static_cast<int32_t>(row.IntOr(2, -1)),
                        .stream = out_.streams.Of(static_cast<uint64_t>(row.Int(3)))};
    if (nodes_.empty()) {
      out_.Add(launch);
    } else {
      out_.AddNode(launch, row.Has(8) ? NodeOf(row.Int(5), row.Int(8)) : kNone32);
    }
  });
}

Result<void> NsysReader::ReadCopies(const char* table, LaunchKind kind) {
  constexpr std::array kColumns = {"start",    "end",           "deviceId",
                                   "streamId", "correlationId", "globalPid"};
  const TextId name = profile_.text.Intern(kind == LaunchKind::kCopy ? "Memcpy" : "Memset");
  return rows_.Scan(table, kColumns, [&](const SqliteRow& row) {
    RowTimes times;
    if (!TakeTimes(row, times)) return;
    const uint64_t correlation = LaunchCorrelation(row);
    launched_.push_back(correlation);
    out_.Add({.start_ns = times.start_ns,
              .dur_ns = times.end_ns - times.start_ns,
              .correlation = correlation,
              .name = name,
              .device = static_cast<int32_t>(row.IntOr(2, -1)),
              .stream = out_.streams.Of(static_cast<uint64_t>(row.Int(3))),
              .kind = kind});
  });
}

// The kernels inside are lost, but their time must not be.
Result<void> NsysReader::ReadWholeGraphs() {
  constexpr std::array kColumns = {"start",    "end",           "deviceId",
                                   "streamId", "correlationId", "globalPid"};
  const TextId name = profile_.text.Intern(kWholeGraph);
  return rows_.Scan("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", kColumns, [&](const SqliteRow& row) {
    RowTimes times;
    if (!TakeTimes(row, times)) return;
    ++profile_.loss.whole_graphs;
    const uint64_t correlation = LaunchCorrelation(row);
    launched_.push_back(correlation);
    const Launch launch{.start_ns = times.start_ns,
                        .dur_ns = times.end_ns - times.start_ns,
                        .correlation = correlation,
                        .name = name,
                        .device = static_cast<int32_t>(row.IntOr(2, -1)),
                        .stream = out_.streams.Of(static_cast<uint64_t>(row.Int(3)))};
    if (nodes_.empty()) {
      out_.Add(launch);
    } else {
      out_.AddNode(launch, kNone32);
    }
  });
}

// Calls come in the order in which they launch, mostly: the next id is near the last one.
bool NsysReader::Launched(uint64_t correlation) {
  constexpr size_t kNear = 16;
  size_t at = next_launched_;
  for (size_t i = 0; i < kNear && at < launched_.size() && launched_[at] < correlation; ++i) ++at;
  if (at >= launched_.size() || launched_[at] != correlation) {
    at = static_cast<size_t>(std::ranges::lower_bound(launched_, correlation) - launched_.begin());
  }
  if (at >= launched_.size() || launched_[at] != correlation) return false;
  next_launched_ = at;
  return true;
}

Result<void> NsysReader::ReadCalls() {
  if (!std::ranges::is_sorted(launched_)) std::ranges::sort(launched_);
  constexpr std::array kColumns = {"start", "end", "globalTid", "correlationId", "nameId"};
  return rows_.Scan("CUPTI_ACTIVITY_KIND_RUNTIME", kColumns, [&](const SqliteRow& row) {
    const std::optional<int64_t> number = row.IntIf(3);
    const int64_t thread = row.Int(2);
    const uint64_t correlation = number ? Correlation(thread, *number) : kNoId;
    if (correlation == kNoId || !Launched(correlation)) return out_.Skip();
    RowTimes times;
    if (!TakeTimes(row, times)) return;
    out_.AddCall(times, correlation, String(row.Int(4)),
                 out_.threads.Of(static_cast<uint64_t>(thread)));
  });
}

Result<void> NsysReader::ReadRanges() {
  constexpr std::array kColumns = {"start", "end", "eventType", "text", "textId", "globalTid"};
  return rows_.Scan("NVTX_EVENTS", kColumns, [&](const SqliteRow& row) {
    const int64_t type = row.IntOr(2, kPushPopRange);
    const bool range = type == kPushPopRange || type == kStartEndRange;
    const std::optional<int64_t> start = row.IntIf(0);
    const std::optional<int64_t> end = row.IntIf(1);
    const std::optional<int64_t> thread = row.IntIf(5);
    // A range without an end was open when recording stopped, a mark has none.
    if (!range || !start || !end || !thread) return out_.Skip();
    RowTimes times{*start, *end};
    if (!out_.Take(times)) return;
    std::string_view text = row.Text(3);
    if (text.data() == nullptr) {
      const std::optional<int64_t> registered = row.IntIf(4);
      if (registered) text = profile_.text.Text(String(*registered));
    }
    const NvtxOp op = ParseNvtxText(text);
    if (!op.is_op) ++profile_.user_annotations;
    if (!op.sizes.empty()) profile_.shapes_recorded = true;
    profile_.ops.push_back({.start_ns = times.start_ns,
                            .end_ns = times.end_ns,
                            .name = profile_.text.Intern(op.name),
                            .arguments = InternOpTexts({.dims = op.sizes}, profile_.text, scratch_),
                            .thread = out_.threads.Of(static_cast<uint64_t>(*thread)),
                            .annotation = !op.is_op});
  });
}

}  // namespace

Result<Profile> ReadNsys(SqliteRows rows) {
  return NsysReader(rows).Run();
}

}  // namespace roofmark::trace
