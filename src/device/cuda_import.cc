// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_import.h"

namespace roofmark::device {

Result<std::unique_ptr<CudaMapping>> CudaMapping::Map(const CudaApi& api, cu::MemoryHandle handle,
                                                      size_t bytes, MapAccess access,
                                                      cu::Device device) {
  cu::Pointer address = 0;
  if (const auto reserved =
          api.Check(api.mem_address_reserve(&address, bytes, 0, 0, 0), "reserving addresses");
      !reserved) {
    api.mem_release(handle);
    return std::unexpected(reserved.error());
  }
  std::unique_ptr<CudaMapping> mapping(new CudaMapping(api, address, bytes));
  const auto mapped = api.Check(api.mem_map(address, bytes, 0, handle, 0), "mapping an arena");
  api.mem_release(handle);
  if (!mapped) return std::unexpected(mapped.error());
  mapping->mapped_ = true;
  const cu::AccessDescription description = {
      .location = {.id = device},
      .flags = access == MapAccess::kRead ? cu::kAccessRead : cu::kAccessReadWrite};
  TRY(api.Check(api.mem_set_access(address, bytes, &description, 1), "setting an arena's access"));
  return mapping;
}

Result<std::unique_ptr<CudaMapping>> CudaMapping::Import(const CudaApi& api, int fd, size_t bytes,
                                                         MapAccess access, cu::Device device) {
  cu::MemoryHandle handle = 0;
  // The API takes the descriptor itself in the pointer's place.
  void* const shareable = reinterpret_cast<void*>(static_cast<intptr_t>(fd));
  TRY(api.Check(api.mem_import(&handle, shareable, cu::kHandleTypePosixFd), "importing an arena"));
  return Map(api, handle, bytes, access, device);
}

CudaMapping::~CudaMapping() {
  // After a fault every call fails with the same sticky error; the process ends soon, so the
  // results do not matter here.
  if (mapped_) api_.mem_unmap(address_, bytes_);
  if (address_ != 0) api_.mem_address_free(address_, bytes_);
}

}  // namespace roofmark::device
