// SPDX-License-Identifier: Apache-2.0
#include "worker/arena_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace roofmark::worker {
namespace {

Result<std::vector<MappedTensor>> TensorsOf(const Json& request) {
  std::vector<MappedTensor> tensors;
  for (const Json& row : TRY(request.ArrayAt("tensors"))->array()) {
    MappedTensor tensor{.name = TRY(row.String("name")),
                        .dtype = TRY(ParseDType(TRY(row.String("dtype")))),
                        .offset = TRY(row.Int("offset"))};
    for (const Json& size : TRY(row.ArrayAt("sizes"))->array()) {
      if (!size.is_int()) return Fail(ErrorKind::kInput, "a size is no integer");
      tensor.sizes.push_back(size.as_int());
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

}  // namespace

const MappedTensor* MappedArena::Find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &MappedTensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

Result<Json> ArenaMap::Map(const Json& request, int fd) {
  const std::string name = TRY(request.String("arena"));
  if (arenas_.contains(name)) return Fail(ErrorKind::kInput, name + " is mapped already");
  const Access access = TRY(request.String("access")) == "rw" ? Access::kReadWrite : Access::kRead;
  MappedArena arena{.bytes = TRY(request.Int("bytes")), .tensors = TRY(TensorsOf(request))};
  arena.base = static_cast<char*>(TRY_IN(device_.Map(fd, access, arena.bytes), "mapping " + name));
  const auto address = reinterpret_cast<int64_t>(arena.base);
  arenas_.emplace(name, std::move(arena));
  return Json::MakeObject().Set("address", address);
}

Result<Json> ArenaMap::Unmap(const Json& request) {
  const std::string name = TRY(request.String("arena"));
  const auto found = arenas_.find(name);
  if (found == arenas_.end()) return Fail(ErrorKind::kInput, name + " is not mapped");
  TRY_IN(device_.Unmap(found->second.base, found->second.bytes), "unmapping " + name);
  arenas_.erase(found);
  return Json::MakeObject();
}

Result<const MappedArena*> ArenaMap::At(std::string_view name) const {
  const auto found = arenas_.find(name);
  if (found == arenas_.end()) {
    return Fail(ErrorKind::kInput, fmt::format("no arena '{}' is mapped", name));
  }
  return &found->second;
}

const MappedTensor* ArenaMap::AnyTensor(std::string_view name) const {
  for (const auto& [ignored, arena] : arenas_) {
    if (const MappedTensor* tensor = arena.Find(name)) return tensor;
  }
  return nullptr;
}

}  // namespace roofmark::worker
