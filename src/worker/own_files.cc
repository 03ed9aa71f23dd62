// SPDX-License-Identifier: Apache-2.0
#include "worker/own_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

#include "base/files.h"
#include "base/owned.h"
#include "base/text.h"

namespace roofmark::worker {
namespace {

FileIdentity IdentityAt(const void* address) {
  const Result<std::string> maps = ReadFile("/proc/self/maps");
  for (const std::string_view line : Split(maps ? std::string_view(*maps) : "", '\n')) {
    const std::optional<MappedRange> range = ParseMapsLine(line);
    if (range && range->begin == reinterpret_cast<uintptr_t>(address)) return IdentityIn(*range);
  }
  return {};
}

}  // namespace

FileIdentity IdentityIn(const MappedRange& range) {
  if (range.inode == "0") return {};
  return fmt::format("{} {}", range.device, range.inode);
}

FileIdentity IdentityOf(pid_t pid, const std::string& path) {
  const std::string here = fmt::format("/proc/{}/root{}", pid, path);
  const Fd file(::open(here.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return {};
  const auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) return {};
  FileIdentity identity = IdentityAt(mapped);
  ::munmap(mapped, bytes);
  return identity;
}

}  // namespace roofmark::worker
