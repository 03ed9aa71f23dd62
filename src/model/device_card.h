// SPDX-License-Identifier: Apache-2.0
// A device card holds a device's ceilings: datasheet peaks with their sources and, beside them,
// what `calibrate` measured. Every attainment says which of the two it is against.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "model/operator.h"

namespace roofmark {

// 0 means that the device (or the source) has no such ceiling; work on it is then charged to the
// next best engine, as roofline/ states.
struct Ceilings {
  std::array<double, kEngineCount> ops_per_s{};
  double memory_bytes_per_s = 0;
  double launch_floor_s = 0;                   // least time of a kernel that does almost nothing
  std::map<std::string, std::string> sources;  // by key, e.g. "memory" -> document or measurement
  bool present = false;
};

struct DeviceCard {
  std::string name;
  std::vector<std::string> aliases;
  std::string kind;  // "cuda", "rocm" or "cpu"
  std::string arch;  // "sm_90", "gfx942", ...
  double l2_bytes = 0;
  Ceilings datasheet;
  Ceilings measured;
  std::string measured_note;  // date, driver, versions, machine
};

}  // namespace roofmark
