// SPDX-License-Identifier: Apache-2.0
// The arenas that a native worker has mapped, by the names that the judge gave them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/dtype.h"
#include "worker/worker_device.h"

namespace roofmark::worker {

struct MappedTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> sizes;
  int64_t offset = 0;
};

struct MappedArena {
  char* base = nullptr;
  int64_t bytes = 0;
  std::vector<MappedTensor> tensors;

  // Nullptr where there is no such tensor.
  const MappedTensor* Find(std::string_view name) const;
};

class ArenaMap {
 public:
  explicit ArenaMap(WorkerDevice& device) : device_(device) {}

  // The requests "map" (with its descriptor) and "unmap"; map's reply holds the address.
  Result<Json> Map(const Json& request, int fd);
  Result<Json> Unmap(const Json& request);

  Result<const MappedArena*> At(std::string_view name) const;
  // Some mapped tensor of that name, for its sizes; nullptr where there is none.
  const MappedTensor* AnyTensor(std::string_view name) const;

 private:
  WorkerDevice& device_;
  std::map<std::string, MappedArena, std::less<>> arenas_;
};

}  // namespace roofmark::worker
