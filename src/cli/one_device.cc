// SPDX-License-Identifier: Apache-2.0
#include "cli/one_device.h"

#include <fmt/format.h>

namespace roofmark::cli {

Result<std::string> OnlyDevice(const fs::path& store, const std::string& asked,
                               const std::set<std::string>& devices) {
  if (devices.size() == 1) return *devices.begin();
  if (devices.empty()) {
    return Fail(
        ErrorKind::kNotFound,
        asked.empty()
            ? fmt::format("{} holds no verdicts; run `roofmark judge` first", store.string())
            : fmt::format("{} holds no verdicts of device '{}'", store.string(), asked));
  }
  return Fail(ErrorKind::kUsage,
              fmt::format("the store holds verdicts of several devices; choose with --device: {}",
                          fmt::join(devices, ", ")));
}

}  // namespace roofmark::cli
