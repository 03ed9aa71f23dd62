// SPDX-License-Identifier: Apache-2.0
#include "cli/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"

namespace roofmark::cli {
namespace {

constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";

// The driver shows one folder a GPU; no context is opened for counting.
size_t CountGpus() {
  std::error_code error;
  size_t count = 0;
  for (std::filesystem::directory_iterator it("/proc/driver/nvidia/gpus", error), end;
       !error && it != end; it.increment(error)) {
    ++count;
  }
  return count;
}

std::string Visible() {
  const char* const value = std::getenv(kVisible);
  return value == nullptr ? "" : value;
}

}  // namespace

Result<std::vector<NamedDevice>> ParseDevices(const std::string& text, const std::string& visible,
                                              size_t gpus) {
  if (text == "cpu") return std::vector<NamedDevice>{NamedDevice{}};
  std::vector<std::string> names;
  for (const std::string_view name : Split(visible, ',')) {
    if (!Trim(name).empty()) names.emplace_back(Trim(name));
  }
  for (size_t i = 0; visible.empty() && i < gpus; ++i) names.push_back(std::to_string(i));
  std::vector<NamedDevice> devices;
  if (text == "cuda") {
    for (const std::string& name : names) devices.push_back({DeviceKind::kCuda, name});
    if (devices.empty()) devices.push_back({.kind = DeviceKind::kCuda});
    return devices;
  }
  for (const std::string_view part : Split(text, ',')) {
    const std::string_view one = Trim(part);
    const Result<int64_t> number =
        one.starts_with("cuda:") ? ParseInt(one.substr(5)) : Fail(ErrorKind::kUsage, "");
    if (!number || *number < 0) {
      return Fail(
          ErrorKind::kUsage,
          fmt::format("--device {}: give cpu, cuda, or GPUs by number (cuda:0,cuda:1)", text));
    }
    if (static_cast<size_t>(*number) >= names.size()) {
      return Fail(ErrorKind::kUsage,
                  fmt::format("--device {}: {} GPUs are visible here", text, names.size()));
    }
    devices.push_back({DeviceKind::kCuda, names[static_cast<size_t>(*number)]});
  }
  return devices;
}

Result<std::vector<NamedDevice>> DevicesOf(const std::string& text) {
  return ParseDevices(text, Visible(), CountGpus());
}

Result<DeviceKind> UseDevice(const std::string& text) {
  if (text == "cpu" || text == "cuda") return ParseDeviceKind(text);
  const std::vector<NamedDevice> devices = TRY(DevicesOf(text));
  if (devices.size() != 1) {
    return Fail(ErrorKind::kUsage, "--device: several GPUs at once need --all");
  }
  ::setenv(kVisible, devices.front().visible.c_str(), 1);
  return devices.front().kind;
}

}  // namespace roofmark::cli
