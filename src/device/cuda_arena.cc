// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_arena.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "base/text.h"

namespace roofmark::device {

CudaArena::CudaArena(ArenaLayout layout, const CudaApi& api, CudaJudge& judge, Fd fd,
                     std::unique_ptr<CudaMapping> mapping)
    : Arena(std::move(layout)),
      api_(api),
      judge_(judge),
      fd_(std::move(fd)),
      mapping_(std::move(mapping)),
      seed_(static_cast<uint64_t>(RandomSeed())) {}

Result<std::unique_ptr<CudaArena>> CudaArena::Make(const CudaApi& api, CudaJudge& judge,
                                                   cu::Device device, ArenaLayout layout) {
  const cu::AllocationProperties properties = {.location = {.id = device}};
  size_t unit = 0;
  TRY(api.Check(api.mem_get_granularity(&unit, &properties, cu::kGranularityMinimum),
                "asking for the allocation granularity"));
  const size_t bytes = (static_cast<size_t>(layout.bytes) + unit - 1) / unit * unit;
  cu::MemoryHandle handle = 0;
  if (const cu::Status status = api.mem_create(&handle, bytes, &properties, 0);
      status != cu::kSuccess) {
    return Fail(ErrorKind::kDevice,
                fmt::format("CUDA: allocating an arena of {}: {}",
                            HumanBytes(static_cast<double>(bytes)), api.Describe(status)));
  }
  int raw_fd = -1;
  if (const auto exported = api.Check(api.mem_export(&raw_fd, handle, cu::kHandleTypePosixFd, 0),
                                      "exporting an arena");
      !exported) {
    api.mem_release(handle);
    return std::unexpected(exported.error());
  }
  Fd fd(raw_fd);
  auto mapping = TRY(CudaMapping::Map(api, handle, bytes, MapAccess::kReadWrite, device));
  return std::unique_ptr<CudaArena>(
      new CudaArena(std::move(layout), api, judge, std::move(fd), std::move(mapping)));
}

std::vector<ByteRange> CudaArena::Guards() const {
  std::vector<ByteRange> ranges = GuardRanges(layout());
  ranges.push_back({.offset = layout().bytes, .bytes = mapped_bytes() - layout().bytes});
  return ranges;
}

Result<void> CudaArena::Poison() {
  for (const ByteRange& range : Guards()) {
    TRY(judge_.Fill(address() + static_cast<uint64_t>(range.offset), range.bytes, kGuardByte));
  }
  for (const TensorPlace& place : layout().places) {
    TRY(judge_.Fill(address() + static_cast<uint64_t>(place.offset), place.tensor.Bytes(),
                    kPoisonByte));
  }
  return judge_.Wait();
}

Result<bool> CudaArena::GuardsIntact() {
  TRY(judge_.StartCount());
  for (const ByteRange& range : Guards()) {
    TRY(judge_.CountOther(address() + static_cast<uint64_t>(range.offset), range.bytes,
                          kGuardByte));
  }
  return TRY(judge_.Counted()) == 0;
}

Result<std::vector<uint64_t>> CudaArena::Fingerprints() {
  std::vector<uint64_t> prints;
  for (const TensorPlace& place : layout().places) {
    prints.push_back(TRY(judge_.Fingerprint(address() + static_cast<uint64_t>(place.offset),
                                            place.tensor.Bytes(), seed_)));
  }
  return prints;
}

Result<cu::Pointer> CudaArena::Part(int64_t offset, int64_t bytes) const {
  if (offset < 0 || bytes < 0 || offset > layout().bytes || bytes > layout().bytes - offset) {
    return Fail(ErrorKind::kInput, fmt::format("bytes {} to {} are outside the arena's {}", offset,
                                               offset + bytes, layout().bytes));
  }
  return address() + static_cast<uint64_t>(offset);
}

Result<std::string> CudaArena::Read(int64_t offset, int64_t bytes) {
  const cu::Pointer at = TRY(Part(offset, bytes));
  std::string data(static_cast<size_t>(bytes), '\0');
  TRY(api_.Check(api_.memcpy_dtoh(data.data(), at, data.size()), "reading an arena"));
  return data;
}

Result<void> CudaArena::Write(int64_t offset, std::string_view bytes) {
  const cu::Pointer at = TRY(Part(offset, static_cast<int64_t>(bytes.size())));
  return api_.Check(api_.memcpy_htod(at, bytes.data(), bytes.size()), "writing an arena");
}

Result<void> CudaArena::Copy(int64_t offset, Arena& from, int64_t from_offset, int64_t bytes) {
  const cu::Pointer to = TRY(Part(offset, bytes));
  const cu::Pointer at = TRY(dynamic_cast<CudaArena&>(from).Part(from_offset, bytes));
  TRY(api_.Check(api_.memcpy_dtod(to, at, static_cast<size_t>(bytes)), "copying an arena"));
  // A copy on the device may return before it is done.
  return api_.Check(api_.ctx_synchronize(), "waiting for a copy of an arena");
}

}  // namespace roofmark::device
