// SPDX-License-Identifier: Apache-2.0
#include "device/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/bind_symbol.h"

namespace roofmark::device {
namespace {

// nvmlClocksEventReason* of nvml.h. That a GPU is idle slows nobody down, and a display's clock is
// no limit of a server's.
constexpr std::array<std::pair<uint64_t, const char*>, 9> kReasons = {{
    {0x02, "clocks set by hand"},
    {0x04, "power cap"},
    {0x08, "hardware slowdown"},
    {0x10, "synchronised boost"},
    {0x20, "thermal slowdown"},
    {0x40, "hardware thermal slowdown"},
    {0x80, "power brake"},
    {0x200, "board limit"},
    {0x400, "reliability limit"},
}};

template <typename Function, typename... Args>
std::optional<unsigned> Ask(Function* function, Args... args) {
  unsigned value = 0;
  if (function(args..., &value) != nvml::kSuccess) return std::nullopt;
  return value;
}

std::optional<int> Whole(std::optional<unsigned> value) {
  if (!value) return std::nullopt;
  return static_cast<int>(*value);
}

std::optional<double> Watts(std::optional<unsigned> milliwatts) {
  if (!milliwatts) return std::nullopt;
  return *milliwatts / 1000.0;
}

}  // namespace

std::string ThrottleText(uint64_t reasons) {
  std::string text;
  for (const auto& [bit, name] : kReasons) {
    if ((reasons & bit) == 0) continue;
    text += text.empty() ? "" : ", ";
    text += name;
  }
  return text;
}

Result<NvmlApi> LoadNvml() {
  void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Fail(ErrorKind::kDevice,
                "libnvidia-ml.so.1 was not found: it comes with the NVIDIA driver (Debian: "
                "libnvidia-ml1; in a container, the capability 'utility'); without it clocks, "
                "power and temperature are not known");
  }
  NvmlApi api;
  const bool complete =
      BindSymbol(library, api.init, "nvmlInit_v2") &&
      BindSymbol(library, api.shutdown, "nvmlShutdown") &&
      BindSymbol(library, api.error_string, "nvmlErrorString") &&
      BindSymbol(library, api.driver_version, "nvmlSystemGetDriverVersion") &&
      BindSymbol(library, api.device_by_uuid, "nvmlDeviceGetHandleByUUID") &&
      BindSymbol(library, api.clock, "nvmlDeviceGetClockInfo") &&
      BindSymbol(library, api.max_clock, "nvmlDeviceGetMaxClockInfo") &&
      BindSymbol(library, api.temperature, "nvmlDeviceGetTemperature") &&
      BindSymbol(library, api.power_limit, "nvmlDeviceGetEnforcedPowerLimit") &&
      BindSymbol(library, api.power, "nvmlDeviceGetPowerUsage") &&
      // Its newer name, ...ClocksEventReasons, is missing from older drivers.
      BindSymbol(library, api.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  if (!complete) {
    return Fail(ErrorKind::kDevice, "libnvidia-ml.so.1 lacks functions: the driver is too old");
  }
  return api;
}

Result<std::unique_ptr<Nvml>> Nvml::Open(const std::string& uuid) {
  return Open(TRY(LoadNvml()), uuid);
}

Result<std::unique_ptr<Nvml>> Nvml::Open(const NvmlApi& api, const std::string& uuid) {
  if (const nvml::Status status = api.init(); status != nvml::kSuccess) {
    return Fail(ErrorKind::kDevice,
                fmt::format("NVML: initialising: {}", api.error_string(status)));
  }
  std::unique_ptr<Nvml> opened(new Nvml(api));
  const nvml::Status status = api.device_by_uuid(uuid.c_str(), &opened->device_);
  if (status != nvml::kSuccess) {
    return Fail(ErrorKind::kDevice,
                fmt::format("NVML: finding {}: {}; it may be a part of a GPU, or hidden here", uuid,
                            api.error_string(status)));
  }
  return opened;
}

Nvml::~Nvml() {
  api_.shutdown();
}

GpuState Nvml::Read() const {
  GpuState state;
  state.sm_mhz = Whole(Ask(api_.clock, device_, nvml::kClockSm));
  state.memory_mhz = Whole(Ask(api_.clock, device_, nvml::kClockMemory));
  state.celsius = Whole(Ask(api_.temperature, device_, nvml::kTemperatureGpu));
  state.watts = Watts(Ask(api_.power, device_));
  unsigned long long reasons = 0;
  if (api_.reasons(device_, &reasons) == nvml::kSuccess) state.reasons = reasons;
  return state;
}

GpuLimits Nvml::ReadLimits() const {
  GpuLimits limits;
  std::array<char, 96> driver{};
  if (api_.driver_version(driver.data(), driver.size() - 1) == nvml::kSuccess) {
    limits.driver = driver.data();
  }
  limits.power_limit_w = Watts(Ask(api_.power_limit, device_));
  limits.max_sm_mhz = Whole(Ask(api_.max_clock, device_, nvml::kClockSm));
  limits.max_memory_mhz = Whole(Ask(api_.max_clock, device_, nvml::kClockMemory));
  return limits;
}

}  // namespace roofmark::device
