// SPDX-License-Identifier: Apache-2.0
#include "device/cpu_memory.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/text.h"

namespace roofmark::device {
namespace {

std::optional<int64_t> NumberIn(const fs::path& path) {
  const auto text = ReadFile(path);
  if (!text) return std::nullopt;
  const auto number = ParseInt(Trim(*text));
  return number ? std::optional<int64_t>(*number) : std::nullopt;  // "max" is no limit
}

// This process's group in a hierarchy; `controller` is empty in version 2.
std::string GroupOf(std::string_view controller) {
  const auto text = ReadFile("/proc/self/cgroup");
  if (!text) return {};
  for (const std::string_view line : Split(*text, '\n')) {
    const std::vector<std::string_view> parts = Split(line, ':');
    if (parts.size() >= 3 && parts[1] == controller) return std::string(parts[2]);
  }
  return {};
}

struct Hierarchy {
  const char* controller;
  const char* root;
  const char* limit;
  const char* usage;
};
constexpr std::array<Hierarchy, 2> kHierarchies = {
    {{"", "/sys/fs/cgroup", "memory.max", "memory.current"},
     {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"}}};

// Page cache that the kernel gives back before it kills; counted as used by the group.
int64_t ReclaimableIn(const fs::path& folder) {
  const auto stat = ReadFile(folder / "memory.stat");
  if (!stat) return 0;
  for (const std::string_view line : Split(*stat, '\n')) {
    constexpr std::string_view kKey = "inactive_file ";
    if (line.starts_with(kKey)) return ParseInt(line.substr(kKey.size())).value_or(0);
  }
  return 0;
}

// The least room under the limits of this process's group and its parents.
std::optional<int64_t> RoomInGroups(const Hierarchy& hierarchy) {
  std::optional<int64_t> least;
  fs::path group = fs::path(GroupOf(hierarchy.controller)).relative_path();
  while (true) {
    const fs::path folder = fs::path(hierarchy.root) / group;
    const std::optional<int64_t> limit = NumberIn(folder / hierarchy.limit);
    const std::optional<int64_t> usage = NumberIn(folder / hierarchy.usage);
    if (limit && usage) {
      least = std::min(least.value_or(INT64_MAX), *limit - *usage + ReclaimableIn(folder));
    }
    if (group.empty()) return least;
    group = group.parent_path();
  }
}

}  // namespace

Result<int64_t> AvailableMemoryBytes() {
  const std::string text = TRY(ReadFile("/proc/meminfo"));
  constexpr std::string_view kKey = "MemAvailable:";
  const size_t at = text.find(kKey);
  if (at == std::string::npos) {
    return Fail(ErrorKind::kDevice, "/proc/meminfo has no MemAvailable (Linux 3.14 or later)");
  }
  std::string_view value = Split(std::string_view(text).substr(at + kKey.size()), '\n').front();
  value = Trim(value.substr(0, value.find("kB")));
  int64_t available = TRY_IN(ParseInt(value), "/proc/meminfo, MemAvailable") * 1024;
  for (const Hierarchy& hierarchy : kHierarchies) {
    if (const auto room = RoomInGroups(hierarchy)) available = std::min(available, *room);
  }
  return std::max<int64_t>(available, 0);
}

}  // namespace roofmark::device
