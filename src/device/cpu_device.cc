// SPDX-License-Identifier: Apache-2.0
// The CPU as a device: its arenas are memfds and comparing is done right here in the judge.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "device/compare.h"
#include "device/cpu_arena.h"
#include "device/cpu_memory.h"
#include "device/device.h"
#include "device/proc_fields.h"

namespace roofmark::device {
namespace {

// Of the largest cache that cpu0 reports, in bytes; 0 where the kernel does not say.
int64_t LastLevelCacheBytes() {
  int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    const auto text =
        ReadFile(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", index));
    if (!text) continue;
    std::string_view size = Trim(*text);
    int64_t unit = 1;
    if (size.ends_with('K')) unit = 1024;
    if (size.ends_with('M')) unit = 1024 * 1024;
    if (unit > 1) size.remove_suffix(1);
    if (const auto value = ParseInt(size)) largest = std::max(largest, *value * unit);
  }
  if (largest == 0) largest = std::max(0L, ::sysconf(_SC_LEVEL3_CACHE_SIZE));
  return largest;
}

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(DeviceInfo info) : info_(std::move(info)) {}

  const DeviceInfo& info() const override { return info_; }

  Result<std::unique_ptr<Arena>> MakeArena(ArenaLayout layout) override {
    return TRY(CpuArena::Make(std::move(layout)));
  }

  Result<Comparison> Compare(Arena& got, Arena& want, size_t place,
                             const Tolerance& tolerance) override {
    auto& got_cpu = dynamic_cast<CpuArena&>(got);
    auto& want_cpu = dynamic_cast<CpuArena&>(want);
    const TensorPlace& at = want.layout().places.at(place);
    const TensorPlace& got_at = got.layout().places.at(place);
    return TRY_IN(ComparePayloads({.dtype = at.tensor.dtype,
                                   .elements = at.tensor.Elements(),
                                   .got = got_cpu.memory().data() + got_at.offset,
                                   .want = want_cpu.memory().data() + at.offset},
                                  tolerance),
                  at.tensor.name);
  }

 private:
  DeviceInfo info_;
};

}  // namespace

Result<std::unique_ptr<Device>> OpenCpu() {
  DeviceInfo info{.kind = DeviceKind::kCpu, .arch = "x86-64"};
  info.name = ProcField(TRY(ReadFile("/proc/cpuinfo")), "model name");
  if (info.name.empty()) info.name = "x86-64 CPU";
  utsname kernel{};
  if (::uname(&kernel) == 0) info.driver = fmt::format("Linux {}", kernel.release);
  info.cache_bytes = LastLevelCacheBytes();
  info.memory_bytes = TRY(AvailableMemoryBytes());
  info.units = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return std::make_unique<CpuDevice>(std::move(info));
}

}  // namespace roofmark::device
