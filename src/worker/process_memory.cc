// SPDX-License-Identifier: Apache-2.0
#include "worker/process_memory.h"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/text.h"

namespace roofmark::worker {
namespace {

constexpr int kMaxDepth = 8;

int64_t ResidentBytesOf(pid_t pid, int depth) {
  const auto statm = ReadFile(fmt::format("/proc/{}/statm", pid));
  if (!statm || depth > kMaxDepth) return 0;
  const std::vector<std::string_view> words = Split(*statm, ' ');
  int64_t bytes = 0;
  if (words.size() > 1) bytes = ParseInt(words[1]).value_or(0) * ::sysconf(_SC_PAGESIZE);
  const auto children = ReadFile(fmt::format("/proc/{}/task/{}/children", pid, pid));
  if (!children) return bytes;
  for (const std::string_view child : Split(Trim(*children), ' ')) {
    if (const auto number = ParseInt(child)) {
      bytes += ResidentBytesOf(static_cast<pid_t>(*number), depth + 1);
    }
  }
  return bytes;
}

}  // namespace

int64_t ResidentBytes(pid_t pid) {
  return ResidentBytesOf(pid, 0);
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
