// SPDX-License-Identifier: Apache-2.0
// Memory that the judge owns and lends to workers. An arena is one shareable allocation (a sealed
// memfd on a CPU, a CUDA virtual-memory allocation on a GPU) that holds several tensors with guard
// regions before, between and after them. Inputs, outputs and expected outputs lie in arenas of
// their own, so that each can be mapped with just the access that its worker needs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/workload.h"

namespace roofmark::device {

inline constexpr int64_t kGuardBytes = 4096;
inline constexpr int64_t kTensorAlignment = 256;
// A tensor of this size or more has memory of its own in PyTorch, at a multiple of 2 MiB. Source:
// kMinLargeAlloc and kRoundLarge in c10/cuda/CUDACachingAllocator. Smaller ones lie anywhere.
inline constexpr int64_t kLargeTensorBytes = int64_t{10} << 20;
// Where a large tensor begins changes a kernel's time on an H200, but only by the place modulo
// 8 KiB: this stands for 2 MiB and takes less memory (docs/decisions/023, `./run gpu placement`).
inline constexpr int64_t kLargeTensorAlignment = int64_t{64} << 10;
inline constexpr uint8_t kGuardByte = 0xa5;
// Every payload byte is poisoned with this before a call: a NaN in each float type, -1 in integers.
inline constexpr uint8_t kPoisonByte = 0xff;
// Whether no honest value of a tensor looks like poison: -1 is a likely index, and every code of a
// byte a value.
bool PoisonTells(const Tensor& tensor);

struct TensorPlace {
  Tensor tensor;
  // Bytes from the arena's start, a multiple of kTensorAlignment, of large tensors of
  // kLargeTensorAlignment.
  int64_t offset = 0;
};

struct ArenaLayout {
  int64_t bytes = 0;  // a multiple of 4096; devices may round the allocation up further
  std::vector<TensorPlace> places;
};

// Places the tensors in order with at least kGuardBytes of guard around each.
ArenaLayout LayOut(std::span<const Tensor> tensors);

struct ByteRange {
  int64_t offset = 0;
  int64_t bytes = 0;
};
// Everything in [0, layout.bytes) that is no payload, in order.
std::vector<ByteRange> GuardRanges(const ArenaLayout& layout);

class Arena {
 public:
  explicit Arena(ArenaLayout layout) : layout_(std::move(layout)) {}
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  virtual ~Arena() = default;

  const ArenaLayout& layout() const { return layout_; }

  // The handle to send to a worker; owned by the arena.
  virtual int fd() const = 0;
  // Bytes that a worker must map: layout().bytes rounded up to the device's granularity.
  virtual int64_t mapped_bytes() const = 0;
  // From now on no new writable mapping can be made from the handle; those that exist (the judge's,
  // the reference worker's) stay. Where a device cannot enforce that (CUDA: access is set by the
  // importer), the judge relies on Fingerprints, and the verdict's level says so.
  virtual Result<void> Seal() = 0;
  // Payloads become kPoisonByte, guards kGuardByte. Done when it returns.
  virtual Result<void> Poison() = 0;
  // True when every guard byte is untouched.
  virtual Result<bool> GuardsIntact() = 0;
  // A 64-bit hash of each payload, by place. Detects change, proves nothing else.
  virtual Result<std::vector<uint64_t>> Fingerprints() = 0;
  virtual Result<std::string> Read(int64_t offset, int64_t bytes) = 0;
  virtual Result<void> Write(int64_t offset, std::string_view bytes) = 0;
  // Copies bytes of another arena of the same device. Done when it returns.
  virtual Result<void> Copy(int64_t offset, Arena& from, int64_t from_offset, int64_t bytes) = 0;

 private:
  ArenaLayout layout_;
};

}  // namespace roofmark::device
