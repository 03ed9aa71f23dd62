// SPDX-License-Identifier: Apache-2.0
// A device that needs no machine: arenas are plain memory, and every call is recorded. For tests of
// whatever uses a Device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/compare.h"
#include "device/device.h"
#include "device/host_bytes.h"

namespace roofmark::device {

using CallLog = std::shared_ptr<std::vector<std::string>>;

class FakeArena final : public Arena {
 public:
  FakeArena(ArenaLayout layout, CallLog calls)
      : Arena(std::move(layout)),
        calls_(std::move(calls)),
        memory(static_cast<size_t>(Arena::layout().bytes)) {}

  int fd() const override { return -1; }
  int64_t mapped_bytes() const override { return layout().bytes; }
  Result<void> Seal() override {
    calls_->emplace_back("seal");
    return {};
  }
  Result<void> Poison() override {
    calls_->emplace_back("poison");
    PoisonBytes(memory, layout());
    return {};
  }
  Result<bool> GuardsIntact() override { return GuardBytesIntact(memory, layout()); }
  Result<std::vector<uint64_t>> Fingerprints() override {
    return FingerprintPlaces(memory, layout(), 0);
  }
  Result<std::string> Read(int64_t offset, int64_t bytes) override {
    return std::string(reinterpret_cast<const char*>(memory.data()) + offset,
                       static_cast<size_t>(bytes));
  }
  Result<void> Write(int64_t offset, std::string_view bytes) override {
    std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(),
                memory.begin() + offset);
    return {};
  }
  Result<void> Copy(int64_t offset, Arena& from, int64_t from_offset, int64_t bytes) override {
    return Write(offset, TRY(from.Read(from_offset, bytes)));
  }

 private:
  CallLog calls_;

 public:
  std::vector<std::byte> memory;
};

class FakeDevice final : public Device {
 public:
  const DeviceInfo& info() const override { return device_info; }
  Result<std::unique_ptr<Arena>> MakeArena(ArenaLayout layout) override {
    calls->emplace_back("make_arena " + std::to_string(layout.bytes));
    return std::make_unique<FakeArena>(std::move(layout), calls);
  }
  Result<Comparison> Compare(Arena& got, Arena& want, size_t place,
                             const Tolerance& tolerance) override {
    calls->emplace_back("compare " + std::to_string(place));
    const TensorPlace& at = want.layout().places.at(place);
    return ComparePayloads({.dtype = at.tensor.dtype,
                            .elements = at.tensor.Elements(),
                            .got = dynamic_cast<FakeArena&>(got).memory.data() + at.offset,
                            .want = dynamic_cast<FakeArena&>(want).memory.data() + at.offset},
                           tolerance);
  }

  // What a test says is free, one answer a call; the last one stays.
  Result<std::optional<int64_t>> FreeMemory() override {
    if (free_memory.empty()) return std::optional<int64_t>();
    const int64_t now = free_memory.front();
    if (free_memory.size() > 1) free_memory.erase(free_memory.begin());
    return std::optional<int64_t>(now);
  }
  Result<void> CheckAnswers() override {
    calls->emplace_back("check_answers");
    if (!sick.empty()) return Fail(ErrorKind::kDevice, sick);
    return {};
  }

  std::vector<int64_t> free_memory;
  std::string sick;  // why the device does not answer; empty = it does
  DeviceInfo device_info{.name = "fake", .arch = "x86-64", .memory_bytes = int64_t{1} << 30};
  CallLog calls = std::make_shared<std::vector<std::string>>();
};

}  // namespace roofmark::device
