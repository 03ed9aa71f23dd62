// SPDX-License-Identifier: Apache-2.0
// One CUDA virtual-memory allocation mapped into this process: the judge maps what it created, a
// worker what it received as a descriptor. Read-only mappings are enforced by the GPU: a kernel's
// write faults with error 700 in its own process alone. A worker's host code can raise its mapping
// to read-write, though, so the judge fingerprints inputs as well.
#pragma once

#include <cstdint>
#include <memory>

#include "device/cuda_api.h"

namespace roofmark::device {

enum class MapAccess { kRead, kReadWrite };

class CudaMapping {
 public:
  // Takes over `handle` (released after mapping; the mapping keeps the memory alive). `bytes` is a
  // multiple of the allocation granularity. Requires: a current context on `device`.
  static Result<std::unique_ptr<CudaMapping>> Map(const CudaApi& api, cu::MemoryHandle handle,
                                                  size_t bytes, MapAccess access,
                                                  cu::Device device);
  // Imports an exported descriptor, which stays the caller's to close.
  static Result<std::unique_ptr<CudaMapping>> Import(const CudaApi& api, int fd, size_t bytes,
                                                     MapAccess access, cu::Device device);
  CudaMapping(const CudaMapping&) = delete;
  CudaMapping& operator=(const CudaMapping&) = delete;
  ~CudaMapping();

  cu::Pointer address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  CudaMapping(const CudaApi& api, cu::Pointer address, size_t bytes)
      : api_(api), address_(address), bytes_(bytes) {}

  CudaApi api_;
  cu::Pointer address_ = 0;
  size_t bytes_ = 0;
  bool mapped_ = false;
};

}  // namespace roofmark::device
