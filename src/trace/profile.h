// SPDX-License-Identifier: Apache-2.0
// A profile as compact tables: what the mining needs of its events, and nothing else. Times are
// nanoseconds as written; base_ns, where present, makes them absolute.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "trace/byte_source.h"
#include "trace/event_splitter.h"
#include "trace/string_table.h"

namespace roofmark::trace {

inline constexpr uint64_t kNoId = UINT64_MAX;
inline constexpr uint32_t kNone32 = UINT32_MAX;

enum class LaunchKind : uint8_t { kKernel, kCopy, kFill };

// One execution on the device.
struct Launch {
  int64_t start_ns = 0;
  int64_t dur_ns = 0;            // never negative
  uint64_t correlation = kNoId;  // of the runtime call that launched it
  uint64_t external_id = kNoId;  // of the operator that launched it, where it can be trusted
  TextId name = kNoText;
  int32_t device = 0;
  uint32_t stream = kNone32;  // index of its stream's text
  LaunchKind kind = LaunchKind::kKernel;
};

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
  TextId dims = kNoText;  // texts as in the profile: many operators share them
  TextId types = kNoText;
  TextId concrete = kNoText;
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

// What was read and what was lost.
struct ReadLoss {
  SplitLoss split;
  std::string damage;         // of the compressed stream; empty where it is sound
  uint64_t negative_dur = 0;  // taken as 0
  uint64_t zero_dur = 0;      // launches of no duration: counted, no time
  bool truncated() const { return split.truncated || !damage.empty(); }
};

struct Profile {
  StringTable text;
  std::vector<Launch> kernels;
  std::vector<Launch> copies;      // copies and fills
  std::vector<RuntimeCall> calls;  // calls that launch nothing only where a launch names them
  std::vector<CpuOp> ops;
  std::vector<GpuRange> gpu_ranges;
  uint64_t events = 0;
  uint64_t python_events = 0;
  uint64_t user_annotations = 0;
  std::optional<int64_t> base_ns;
  std::string device_name;  // of device 0; empty where the profile does not say
  std::optional<int64_t> rank;
  std::string vendor;  // "cuda" or "rocm" by the runtime's version keys; empty where unknown
  bool shapes_recorded = false;
  uint64_t bytes = 0;         // inflated
  uint64_t stored_bytes = 0;  // as in the file
  ReadLoss loss;
};

// Reads a Kineto profile (JSON, .json.gz). Damage inside is survived and counted in `loss`.
// Errors: kNotFound, kIo, and kInput where this is no profile; they name the file.
Result<Profile> ReadProfile(const std::filesystem::path& path);
Result<Profile> ReadProfile(ByteSource source);

// SHA-256 over what the device did (names, times, streams): equal for the same profile stored
// plain, compressed or re-indented; different for different runs.
std::string ContentHash(const Profile& profile);

}  // namespace roofmark::trace
