// SPDX-License-Identifier: Apache-2.0
// An NVML that needs no driver: it says what a test has written down.
#pragma once

#include <string_view>

#include "device/nvml.h"

namespace roofmark::device {

struct FakeNvml {
  static constexpr const char* kUuid = "GPU-fake";
  static inline unsigned sm_mhz = 1980;
  static inline unsigned long long reasons = 0;
  static inline bool tells_power = true;

  static NvmlApi Api() {
    NvmlApi api;
    api.init = [] { return 0; };
    api.shutdown = [] { return 0; };
    api.error_string = [](nvml::Status) { return "Not Found"; };
    api.driver_version = [](char* text, unsigned) {
      std::string_view("580.1").copy(text, 5);
      return 0;
    };
    api.device_by_uuid = [](const char* uuid, nvml::Device*) {
      return std::string_view(uuid) == kUuid ? 0 : 6;
    };
    api.clock = [](nvml::Device, int type, unsigned* mhz) {
      *mhz = type == nvml::kClockSm ? sm_mhz : 3201;
      return 0;
    };
    api.max_clock = [](nvml::Device, int type, unsigned* mhz) {
      *mhz = type == nvml::kClockSm ? 1980 : 3201;
      return 0;
    };
    api.temperature = [](nvml::Device, int, unsigned* celsius) {
      *celsius = 41;
      return 0;
    };
    api.power_limit = [](nvml::Device, unsigned* milliwatts) {
      *milliwatts = 700'000;
      return 0;
    };
    api.power = [](nvml::Device, unsigned* milliwatts) {
      *milliwatts = 312'500;
      return tells_power ? 0 : 3;
    };
    api.reasons = [](nvml::Device, unsigned long long* now) {
      *now = reasons;
      return 0;
    };
    return api;
  }
};

}  // namespace roofmark::device
