// SPDX-License-Identifier: Apache-2.0
// A profile as compact tables: what the mining needs of its events, and nothing else. Times are
// nanoseconds as written; base_ns, where present, makes them absolute.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/byte_source.h"
#include "trace/event_splitter.h"
#include "trace/launches.h"
#include "trace/op_texts.h"
#include "trace/rows.h"
#include "trace/string_table.h"

namespace roofmark::trace {

// A call of the CUDA or HIP runtime or driver.
struct RuntimeCall {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint64_t correlation = kNoId;
  TextId name = kNoText;
  TextId kernel = kNoText;  // HIP only: what a launch call launches
  uint32_t thread = 0;
};

// An operator of the framework, or an annotation: an interval on a CPU thread.
struct CpuOp {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint64_t external_id = kNoId;
  TextId name = kNoText;
  TextId arguments = kNoText;  // op_texts.h: sizes, types, scalars; many operators share them
  uint32_t thread = 0;
  bool annotation = false;
};

// A record_function range as projected on a GPU stream.
struct GpuRange {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  TextId name = kNoText;
  int32_t device = 0;
  uint32_t stream = kNone32;
};

// What made a profile, as its first bytes and its tables tell.
enum class ProfileFormat {
  kUnknown,
  kKineto,          // PyTorch's profiler: Chrome trace events
  kNsys,            // an SQLite export of Nsight Systems
  kRocpd,           // rocprofv3's database, one set of tables a run
  kRpd,             // the older rocmProfileData database
  kRocprofJson,     // rocprofv3 --output-format json
  kRocprofCsv,      // rocprofv3 --output-format csv
  kExecutionTrace,  // PyTorch's execution trace: shapes without times, a side channel
};

// Where a node of a graph was created: the thread and time of the captured call.
struct GraphNode {
  int64_t start_ns = 0;
  uint32_t thread = kNone32;
};

// What was read and what was lost.
struct ReadLoss {
  SplitLoss split;
  std::string damage;         // of the compressed stream; empty where it is sound
  uint64_t negative_dur = 0;  // taken as 0
  uint64_t zero_dur = 0;      // launches of no duration: counted, no time
  // Replays of graphs that were recorded as a whole (nsys --cuda-graph-trace=graph): their kernels
  // are not in the profile. Their time is a launch named kWholeGraph, which no rule claims.
  uint64_t whole_graphs = 0;
  bool truncated() const { return split.truncated || !damage.empty(); }
};

inline constexpr std::string_view kWholeGraph = "[CUDA graph recorded as a whole]";

struct Profile {
  ProfileFormat format = ProfileFormat::kKineto;
  StringTable text;
  Launches kernels;
  Launches copies;          // copies and fills
  Rows<RuntimeCall> calls;  // calls that launch nothing only where a launch names them
  Rows<CpuOp> ops;
  // By operator: its number in an execution trace of the same run (execution_trace.h), kNone32
  // where it has none that fits; empty where no operator has one.
  Rows<uint32_t> record_ids;
  Rows<GpuRange> gpu_ranges;
  // Nodes of graphs by their creation, and by kernel which node it is; node_of is empty where the
  // format has none, and as long as kernels otherwise.
  std::vector<GraphNode> nodes;
  Rows<uint32_t> node_of;
  // Every event is in one of the tables above or among the skipped ones; damaged ones are in loss.
  uint64_t events = 0;
  uint64_t skipped = 0;
  uint64_t python_events = 0;
  uint64_t user_annotations = 0;
  std::optional<int64_t> base_ns;
  std::string device_name;  // of device 0; empty where the profile does not say
  std::optional<int64_t> rank;
  std::string vendor;   // "cuda" or "rocm" by the runtime's version keys; empty where unknown
  std::string version;  // of what recorded it, as it says; empty where it does not
  bool shapes_recorded = false;
  uint64_t bytes = 0;         // inflated
  uint64_t stored_bytes = 0;  // as in the file
  ReadLoss loss;

  // Rows that are kept.
  uint64_t records() const {
    return kernels.size() + copies.size() + calls.size() + ops.size() + gpu_ranges.size();
  }
};

struct ReadOptions {
  // Whether the arguments of operators of that name will be asked for; those of others are kept as
  // kUnasked. Empty: of all. Readers may keep more.
  std::function<bool(std::string_view name)> wants_arguments;
};
// The sizes of operators whose arguments nobody asked for.
inline constexpr std::string_view kUnasked = "[\"not asked for\"]";

// Reads a profile of any format, which its content decides and not its name (profile_format.h).
// Damage inside is survived and counted in `loss`.
// Errors: kNotFound, kIo, and kInput where this is no profile; they name the file.
Result<Profile> ReadProfile(const std::filesystem::path& path, const ReadOptions& options = {});
// A Kineto profile (JSON, plain or compressed).
Result<Profile> ReadProfile(ByteSource source, const ReadOptions& options = {});

// SHA-256 over what the device did (names, times, streams): equal for the same profile stored
// plain, compressed or re-indented; different for different runs.
std::string ContentHash(const Profile& profile);

}  // namespace roofmark::trace
