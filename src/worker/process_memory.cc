// SPDX-License-Identifier: Apache-2.0
#include "worker/process_memory.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/memory_maps.h"
#include "base/text.h"

namespace roofmark::worker {
namespace {

constexpr int kMaxDepth = 8;

// The process and its descendants.
void ForEach(pid_t pid, int depth, const std::function<void(pid_t)>& look) {
  if (depth > kMaxDepth) return;
  look(pid);
  const auto children = ReadFile(fmt::format("/proc/{}/task/{}/children", pid, pid));
  if (!children) return;
  for (const std::string_view child : Split(Trim(*children), ' ')) {
    if (const auto number = ParseInt(child)) ForEach(static_cast<pid_t>(*number), depth + 1, look);
  }
}

// A field of statm, proc(5): size resident shared text lib data dt.
constexpr size_t kResident = 1;
constexpr size_t kData = 5;
std::optional<int64_t> StatmBytes(pid_t pid, size_t field) {
  const auto statm = ReadFile(fmt::format("/proc/{}/statm", pid));
  const std::vector<std::string_view> words = Split(statm ? std::string_view(*statm) : "", ' ');
  if (words.size() <= field) return std::nullopt;
  const Result<int64_t> pages = ParseInt(words[field]);
  if (!pages) return std::nullopt;
  return *pages * ::sysconf(_SC_PAGESIZE);
}

int64_t ResidentBytesOf(pid_t pid) {
  return StatmBytes(pid, kResident).value_or(0);
}

// Resident shared memory: "RssShmem:     124 kB" in status (proc(5)); 0 where it is not said.
int64_t ResidentSharedBytes(pid_t pid) {
  const auto status = ReadFile(fmt::format("/proc/{}/status", pid));
  for (const std::string_view line : Split(status ? std::string_view(*status) : "", '\n')) {
    constexpr std::string_view kKey = "RssShmem:";
    if (!line.starts_with(kKey) || !line.ends_with(" kB")) continue;
    const std::string_view number = line.substr(kKey.size(), line.size() - kKey.size() - 3);
    return ParseInt(Trim(number)).value_or(0) * 1024;
  }
  return 0;
}

// What is mapped of each piece, by its inode. Shared memory without a file is a file of the
// kernel's own.
void AddShared(pid_t pid, std::map<std::string, int64_t>* pieces) {
  const auto maps = ReadFile(fmt::format("/proc/{}/maps", pid));
  for (const std::string_view line : Split(maps ? std::string_view(*maps) : "", '\n')) {
    const std::optional<MappedRange> range = ParseMapsLine(line);
    if (!range || range->path != "/dev/zero (deleted)") continue;
    int64_t& bytes = (*pieces)[std::string(range->inode)];
    bytes = std::max(bytes, static_cast<int64_t>(range->end - range->begin));
  }
}

}  // namespace

int64_t ResidentBytes(pid_t pid) {
  int64_t bytes = 0;
  ForEach(pid, 0, [&](pid_t one) { bytes += ResidentBytesOf(one); });
  return bytes;
}

int64_t SharedBytes(pid_t pid) {
  std::map<std::string, int64_t> pieces;
  ForEach(pid, 0, [&](pid_t one) { AddShared(one, &pieces); });
  int64_t bytes = 0;
  for (const auto& [inode, size] : pieces) bytes += size;
  return bytes;
}

std::optional<int64_t> HeldBytes(pid_t pid) {
  const std::optional<int64_t> data = StatmBytes(pid, kData);
  if (!data) return std::nullopt;
  return *data + std::max(SharedBytes(pid), ResidentSharedBytes(pid));
}

// The right to look is asked before the address is: nothing is mapped at 0.
bool MayReadMemory(pid_t pid) {
  std::byte byte{};
  const iovec local = {.iov_base = &byte, .iov_len = 1};
  const iovec remote = {.iov_base = nullptr, .iov_len = 1};
  return ::process_vm_readv(pid, &local, 1, &remote, 1, 0) < 0 && errno == EFAULT;
}

bool ReadMemory(pid_t pid, uint64_t address, std::span<std::byte> to) {
  while (!to.empty()) {
    const iovec local = {.iov_base = to.data(), .iov_len = to.size()};
    const iovec remote = {.iov_base = reinterpret_cast<void*>(address), .iov_len = to.size()};
    const ssize_t read = ::process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (read <= 0) return false;
    to = to.subspan(static_cast<size_t>(read));
    address += static_cast<uint64_t>(read);
  }
  return true;
}

int64_t OutOfMemoryKills() {
  const auto vmstat = ReadFile("/proc/vmstat");
  if (!vmstat) return 0;
  constexpr std::string_view kKey = "\noom_kill ";
  const size_t at = vmstat->find(kKey);
  if (at == std::string::npos) return 0;
  const std::string_view rest = std::string_view(*vmstat).substr(at + kKey.size());
  return ParseInt(rest.substr(0, rest.find('\n'))).value_or(0);
}

}  // namespace roofmark::worker
