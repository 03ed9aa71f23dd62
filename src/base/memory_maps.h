// SPDX-License-Identifier: Apache-2.0
// What a process has mapped, line by line of /proc/PID/maps.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace roofmark {

// Into the line that it was read from.
struct MappedRange {
  uint64_t begin = 0;  // addresses
  uint64_t end = 0;
  std::string_view permissions;  // "r-xp"
  std::string_view device;       // "08:01"
  std::string_view inode;        // "0" where no file is mapped
  std::string_view path;         // or "[heap]" and the like; empty for memory without a name
};

// Of "begin-end permissions offset device inode path" (proc_pid_maps(5)); nothing for what is no
// such line.
std::optional<MappedRange> ParseMapsLine(std::string_view line);

}  // namespace roofmark
