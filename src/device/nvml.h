// SPDX-License-Identifier: Apache-2.0
// What the GPU says about itself through NVML: clocks, power, temperature, and what slows it down.
// Read only; nothing is ever set. libnvidia-ml.so.1 comes with the driver and is found at run time;
// the few functions are declared by ourselves, so that the build needs no CUDA.
// Source: NVIDIA Management Library (NVML) API reference 13.0.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace roofmark::device {

namespace nvml {
using Status = int;  // nvmlReturn_t
struct DeviceTag;
using Device = DeviceTag*;

inline constexpr Status kSuccess = 0;
inline constexpr int kClockSm = 1;         // NVML_CLOCK_SM
inline constexpr int kClockMemory = 2;     // NVML_CLOCK_MEM
inline constexpr int kTemperatureGpu = 0;  // NVML_TEMPERATURE_GPU
inline constexpr uint64_t kGpuIdle = 0x1;  // nvmlClocksEventReasonGpuIdle
}  // namespace nvml

struct NvmlApi {
  nvml::Status (*init)() = nullptr;
  nvml::Status (*shutdown)() = nullptr;
  const char* (*error_string)(nvml::Status) = nullptr;
  nvml::Status (*driver_version)(char*, unsigned) = nullptr;
  nvml::Status (*device_by_uuid)(const char*, nvml::Device*) = nullptr;
  nvml::Status (*clock)(nvml::Device, int, unsigned*) = nullptr;        // MHz
  nvml::Status (*max_clock)(nvml::Device, int, unsigned*) = nullptr;    // MHz
  nvml::Status (*temperature)(nvml::Device, int, unsigned*) = nullptr;  // degrees Celsius
  nvml::Status (*power_limit)(nvml::Device, unsigned*) = nullptr;       // milliwatts, as enforced
  nvml::Status (*power)(nvml::Device, unsigned*) = nullptr;             // milliwatts
  nvml::Status (*reasons)(nvml::Device, unsigned long long*) = nullptr;
};

// One reading; what the GPU does not tell is absent.
struct GpuState {
  std::optional<int> sm_mhz;
  std::optional<int> memory_mhz;
  std::optional<int> celsius;
  std::optional<double> watts;
  uint64_t reasons = 0;  // nvmlClocksEventReason*

  bool idle() const { return (reasons & nvml::kGpuIdle) != 0; }
};

// What does not change while a process runs, but may between two runs.
struct GpuLimits {
  std::string driver;
  std::optional<double> power_limit_w;
  std::optional<int> max_sm_mhz;
  std::optional<int> max_memory_mhz;
};

// The reasons that slow a busy GPU down, "power cap, thermal slowdown"; empty where there is none.
// Clocks that somebody has set count: "clocks set by hand".
std::string ThrottleText(uint64_t reasons);

class Nvml {
 public:
  // `uuid` as the driver API gives it, "GPU-...". Errors: kDevice with the way out when the library
  // is missing, too old, or does not know the GPU (it is a part of one, or hidden in a container).
  static Result<std::unique_ptr<Nvml>> Open(const std::string& uuid);
  static Result<std::unique_ptr<Nvml>> Open(const NvmlApi& api, const std::string& uuid);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  GpuState Read() const;
  GpuLimits ReadLimits() const;

 private:
  explicit Nvml(const NvmlApi& api) : api_(api) {}

  NvmlApi api_;
  nvml::Device device_ = nullptr;
};

// Errors: kDevice.
Result<NvmlApi> LoadNvml();

}  // namespace roofmark::device
