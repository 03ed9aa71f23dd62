// SPDX-License-Identifier: Apache-2.0
// An arena in a memfd. The judge maps it read-write at once; the reference worker, which fills
// inputs, maps it read-write too; then Seal() forbids any further writable mapping, write() and
// reopening, by the kernel and for every process, so a candidate can never write into its inputs.
// A plain read-only mmap would not do: mprotect and /proc/self/fd undo it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/owned.h"
#include "device/arena.h"

namespace roofmark::device {

class CpuArena final : public Arena {
 public:
  // Errors: kDevice when memory is out or the kernel cannot seal.
  static Result<std::unique_ptr<CpuArena>> Make(ArenaLayout layout);
  ~CpuArena() override;

  int fd() const override { return fd_.get(); }
  int64_t mapped_bytes() const override { return layout().bytes; }
  Result<void> Seal() override;
  Result<void> Poison() override;
  Result<bool> GuardsIntact() override;
  Result<std::vector<uint64_t>> Fingerprints() override;
  Result<std::string> Read(int64_t offset, int64_t bytes) override;
  Result<void> Write(int64_t offset, std::string_view bytes) override;
  Result<void> Copy(int64_t offset, Arena& from, int64_t from_offset, int64_t bytes) override;

  std::span<std::byte> memory() { return memory_; }

 private:
  CpuArena(ArenaLayout layout, Fd fd, std::span<std::byte> memory);
  Result<std::span<std::byte>> Part(int64_t offset, int64_t bytes);

  Fd fd_;
  std::span<std::byte> memory_;
  uint64_t seed_;
};

// Removes the arena's lines from every cache of this machine, written back first, so that the next
// reader finds them cold and clean. Lines are flushed by physical address, so the worker's mapping
// of the same memory is covered. Requires: a CPU arena (CHECK).
void FlushFromCache(Arena& arena);
void FlushFromCache(std::span<const std::byte> memory);
// Reads the operands that are warm by contract into the cache that cores share. Returns how many
// bytes they are. Requires: a CPU arena (CHECK).
int64_t WarmOperands(Arena& arena);

}  // namespace roofmark::device
