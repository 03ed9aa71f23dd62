// SPDX-License-Identifier: Apache-2.0
#include "gate/output_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/cpu_arena.h"

namespace roofmark::gate {
namespace {

constexpr int kProbes = 64;

uint64_t BytesOf(const device::TensorPlace& place) {
  return static_cast<uint64_t>(DTypeBytes(place.tensor.dtype));
}

bool IsPoison(device::Arena& out, const device::TensorPlace& place, uint64_t element) {
  const std::byte* const at = ElementAt(out, place, element);
  return std::all_of(at, at + BytesOf(place),
                     [](std::byte b) { return b == std::byte{device::kPoisonByte}; });
}

}  // namespace

std::byte* ElementAt(device::Arena& out, const device::TensorPlace& place, uint64_t element) {
  return static_cast<device::CpuArena&>(out).memory().data() + place.offset +
         element * BytesOf(place);
}

OutputWatch::OutputWatch() : random_(static_cast<uint64_t>(RandomSeed())) {}

std::string OutputWatch::WrittenAhead(device::Arena& out) {
  for (const device::TensorPlace& place : out.layout().places) {
    const auto elements = static_cast<uint64_t>(place.tensor.Elements());
    if (place.tensor.in_place || elements == 0) continue;
    for (const uint64_t element : {random_.Below(elements), random_.Below(elements)}) {
      if (IsPoison(out, place, element)) continue;
      return fmt::format("{}[flat {}] was written before the call", place.tensor.name, element);
    }
  }
  return {};
}

std::string OutputWatch::Unwritten(device::Arena& out) {
  for (const device::TensorPlace& place : out.layout().places) {
    const auto elements = static_cast<uint64_t>(place.tensor.Elements());
    if (elements == 0 || !device::PoisonTells(place.tensor)) continue;
    for (int i = 0; i < kProbes; ++i) {
      const uint64_t element = i == 0 ? elements - 1 : random_.Below(elements);
      if (!IsPoison(out, place, element)) continue;
      return fmt::format("{}[flat {}] was still unwritten when run returned", place.tensor.name,
                         element);
    }
  }
  return {};
}

Result<void> OutputWatch::Keep(device::Arena& out) {
  kept_.push_back({.out = &out, .fingerprints = TRY(out.Fingerprints())});
  return {};
}

Result<std::string> OutputWatch::Changed() {
  for (const Kept& kept : kept_) {
    const std::vector<uint64_t> now = TRY(kept.out->Fingerprints());
    for (size_t i = 0; i < now.size(); ++i) {
      if (now[i] == kept.fingerprints[i]) continue;
      return fmt::format("{} changed after run had returned",
                         kept.out->layout().places[i].tensor.name);
    }
  }
  return std::string();
}

}  // namespace roofmark::gate
