// SPDX-License-Identifier: Apache-2.0
#include "device/arena.h"

namespace roofmark::device {
namespace {

int64_t RoundUp(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

bool PoisonTells(const Tensor& tensor) {
  return IsFloat(tensor.dtype) && DTypeBytes(tensor.dtype) > 1;
}

ArenaLayout LayOut(std::span<const Tensor> tensors) {
  ArenaLayout layout;
  int64_t end = 0;
  for (const Tensor& tensor : tensors) {
    const int64_t unit =
        tensor.Bytes() >= kLargeTensorBytes ? kLargeTensorAlignment : kTensorAlignment;
    const int64_t offset = RoundUp(end + kGuardBytes, unit);
    layout.places.push_back({.tensor = tensor, .offset = offset});
    end = offset + tensor.Bytes();
  }
  layout.bytes = RoundUp(end + kGuardBytes, 4096);
  return layout;
}

std::vector<ByteRange> GuardRanges(const ArenaLayout& layout) {
  std::vector<ByteRange> ranges;
  int64_t end = 0;
  for (const TensorPlace& place : layout.places) {
    ranges.push_back({.offset = end, .bytes = place.offset - end});
    end = place.offset + place.tensor.Bytes();
  }
  ranges.push_back({.offset = end, .bytes = layout.bytes - end});
  return ranges;
}

}  // namespace roofmark::device
