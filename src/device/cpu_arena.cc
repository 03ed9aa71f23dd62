// SPDX-License-Identifier: Apache-2.0
#include "device/cpu_arena.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/hash.h"
#include "base/text.h"
#include "device/cpu_memory.h"
#include "device/host_bytes.h"

namespace roofmark::device {

Result<std::unique_ptr<CpuArena>> CpuArena::Make(ArenaLayout layout) {
  const int64_t available = TRY(AvailableMemoryBytes());
  if (layout.bytes > available) {
    return Fail(ErrorKind::kDevice, fmt::format("an arena of {} does not fit: {} are available",
                                                HumanBytes(static_cast<double>(layout.bytes)),
                                                HumanBytes(static_cast<double>(available))));
  }
  const auto refused = [&](std::string_view what) {
    return Fail(ErrorKind::kDevice,
                fmt::format("cannot {} an arena of {}: {}", what,
                            HumanBytes(static_cast<double>(layout.bytes)), std::strerror(errno)));
  };
  Fd fd(::memfd_create("roofmark-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return refused("create");
  // fallocate, unlike ftruncate, makes the pages now and not in the middle of a measurement.
  if (const int code = ::posix_fallocate(fd.get(), 0, layout.bytes); code != 0) {
    errno = code;
    return refused("allocate");
  }
  // Nobody may shrink what the judge has mapped.
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) return refused("seal");
  const auto bytes = static_cast<size_t>(layout.bytes);
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED) return refused("map");
  return std::unique_ptr<CpuArena>(
      new CpuArena(std::move(layout), std::move(fd), {static_cast<std::byte*>(at), bytes}));
}

CpuArena::CpuArena(ArenaLayout layout, Fd fd, std::span<std::byte> memory)
    : Arena(std::move(layout)),
      fd_(std::move(fd)),
      memory_(memory),
      seed_(static_cast<uint64_t>(RandomSeed())) {}

CpuArena::~CpuArena() {
  CHECK(::munmap(memory_.data(), memory_.size()) == 0);
}

Result<void> CpuArena::Seal() {
  if (::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0) return {};
  // EPERM: sealed before, by us; what is wanted holds already.
  const int seals = ::fcntl(fd_.get(), F_GET_SEALS);
  if (seals >= 0 && (seals & F_SEAL_FUTURE_WRITE) != 0) return {};
  return Fail(
      ErrorKind::kDevice,
      fmt::format("cannot seal an arena (Linux 5.1 or later is needed): {}", std::strerror(errno)));
}

Result<void> CpuArena::Poison() {
  PoisonBytes(memory_, layout());
  return {};
}

Result<bool> CpuArena::GuardsIntact() {
  return GuardBytesIntact(memory_, layout());
}

Result<std::vector<uint64_t>> CpuArena::Fingerprints() {
  return FingerprintPlaces(memory_, layout(), seed_);
}

Result<std::span<std::byte>> CpuArena::Part(int64_t offset, int64_t bytes) {
  if (offset < 0 || bytes < 0 || bytes > layout().bytes || offset > layout().bytes - bytes) {
    return Fail(ErrorKind::kInput, fmt::format("bytes {} to {} do not lie in an arena of {} bytes",
                                               offset, offset + bytes, layout().bytes));
  }
  return memory_.subspan(static_cast<size_t>(offset), static_cast<size_t>(bytes));
}

Result<std::string> CpuArena::Read(int64_t offset, int64_t bytes) {
  const std::span<std::byte> part = TRY(Part(offset, bytes));
  std::string text(part.size(), '\0');
  std::memcpy(text.data(), part.data(), part.size());
  return text;
}

Result<void> CpuArena::Write(int64_t offset, std::string_view bytes) {
  const std::span<std::byte> part = TRY(Part(offset, static_cast<int64_t>(bytes.size())));
  std::memcpy(part.data(), bytes.data(), part.size());
  return {};
}

Result<void> CpuArena::Copy(int64_t offset, Arena& from, int64_t from_offset, int64_t bytes) {
  const std::span<std::byte> part = TRY(Part(offset, bytes));
  auto& source = dynamic_cast<CpuArena&>(from);
  std::memcpy(part.data(), TRY(source.Part(from_offset, bytes)).data(), part.size());
  return {};
}

}  // namespace roofmark::device
