// SPDX-License-Identifier: Apache-2.0
#include "worker/native_args.h"

#include <bit>
#include <cstring>

#include "worker/dlpack.h"

namespace roofmark::worker {
namespace {

Result<std::vector<std::string>> Names(const Json& json, std::string_view key) {
  std::vector<std::string> names;
  for (const Json& name : TRY(json.ArrayAt(key))->array()) {
    if (!name.is_string()) return Fail(ErrorKind::kInput, std::string(key) + ": not a name");
    names.push_back(name.as_string());
  }
  return names;
}

std::unexpected<Error> NoTensor(const std::string& name) {
  return Fail(ErrorKind::kInput, "no arena holds tensor " + name);
}

}  // namespace

DlDataType DlTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return {.code = 2, .bits = 32};
    case DType::kF16:
      return {.code = 2, .bits = 16};
    case DType::kBF16:
      return {.code = 4, .bits = 16};
    case DType::kF8E4M3Fn:
      return {.code = 10, .bits = 8};
    case DType::kF8E4M3Fnuz:
      return {.code = 11, .bits = 8};
    case DType::kI32:
      return {.code = 0, .bits = 32};
    case DType::kI64:
      return {.code = 0, .bits = 64};
    case DType::kU8:
      break;
  }
  return {.code = 1, .bits = 8};
}

Result<Contract> ContractFromJson(const Json& json) {
  return Contract{.inputs = TRY(Names(json, "inputs")),
                  .outputs = TRY(Names(json, "outputs")),
                  .axes = TRY(Names(json, "axes")),
                  .attributes = TRY(Names(json, "attributes"))};
}

Result<std::vector<uint64_t>> ScalarsOf(const Contract& contract, const Json& shape) {
  std::vector<uint64_t> scalars;
  for (const std::string& axis : contract.axes) {
    scalars.push_back(static_cast<uint64_t>(TRY(shape.Int(axis))));
  }
  for (const std::string& attribute : contract.attributes) {
    scalars.push_back(std::bit_cast<uint64_t>(TRY(shape.Double(attribute))));
  }
  return scalars;
}

void NativeArgs::AddTensor(const MappedTensor& tensor, char* base, int32_t device_type) {
  const size_t rank = tensor.sizes.size();
  auto& sizes = *sizes_.emplace_back(std::make_unique<std::vector<int64_t>>(2 * rank));
  int64_t stride = 1;
  for (size_t i = rank; i-- > 0;) {
    sizes[i] = tensor.sizes[i];
    sizes[rank + i] = stride;
    stride *= tensor.sizes[i];
  }
  const DlTensor view = {.data = base == nullptr ? nullptr : base + tensor.offset,
                         .device = {.type = device_type, .id = 0},
                         .ndim = static_cast<int32_t>(rank),
                         .dtype = DlTypeOf(tensor.dtype),
                         .shape = sizes.data(),
                         .strides = sizes.data() + rank,
                         .byte_offset = 0};
  const size_t at = words_.size();
  words_.resize(at + sizeof view / sizeof(uint64_t));
  std::memcpy(&words_[at], &view, sizeof view);
}

Result<NativeArgs> NativeArgs::Make(const Contract& contract, const std::vector<uint64_t>& scalars,
                                    const MappedArena& in, const MappedArena& out,
                                    int32_t device_type) {
  NativeArgs args;
  for (const std::string& name : contract.inputs) {
    const MappedTensor* const tensor = in.Find(name);
    if (tensor == nullptr) return NoTensor(name);
    args.AddTensor(*tensor, in.base, device_type);
  }
  for (const std::string& name : contract.outputs) {
    const MappedTensor* const tensor = out.Find(name);
    if (tensor == nullptr) return NoTensor(name);
    args.AddTensor(*tensor, out.base, device_type);
  }
  args.words_.insert(args.words_.end(), scalars.begin(), scalars.end());
  return args;
}

Result<NativeArgs> NativeArgs::MakeShapeOnly(const Contract& contract,
                                             const std::vector<uint64_t>& scalars,
                                             const ArenaMap& arenas, int32_t device_type) {
  NativeArgs args;
  for (const auto* names : {&contract.inputs, &contract.outputs}) {
    for (const std::string& name : *names) {
      const MappedTensor* const tensor = arenas.AnyTensor(name);
      if (tensor == nullptr) return NoTensor(name);
      args.AddTensor(*tensor, nullptr, device_type);
    }
  }
  args.words_.insert(args.words_.end(), scalars.begin(), scalars.end());
  return args;
}

}  // namespace roofmark::worker
