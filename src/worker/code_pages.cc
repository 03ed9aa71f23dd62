// SPDX-License-Identifier: Apache-2.0
#include "worker/code_pages.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/memory_maps.h"
#include "base/owned.h"
#include "base/text.h"

namespace roofmark::worker {
namespace {

constexpr uint64_t kPresent = uint64_t{1} << 63;
constexpr uint64_t kSwapped = uint64_t{1} << 62;
constexpr uint64_t kOfFile = uint64_t{1} << 61;
constexpr std::array<std::string_view, 3> kOwnPlaces = {"/candidate/", "/scratch/", "/tmp/"};

// Private executable mappings of others' files.
bool IsOthersCode(const MappedRange& range) {
  if (range.permissions[2] != 'x' || range.permissions[3] != 'p') return false;
  return range.path.starts_with('/') &&
         std::ranges::none_of(
             kOwnPlaces, [&](std::string_view place) { return range.path.starts_with(place); });
}

// Whether a page of the range holds what no file does.
bool WrittenTo(int pagemap, const MappedRange& range) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  std::vector<uint64_t> entries(4096);
  for (uint64_t at = range.begin / page; at < range.end / page; at += entries.size()) {
    const uint64_t count = std::min<uint64_t>(entries.size(), range.end / page - at);
    const ssize_t got = ::pread(pagemap, entries.data(), count * sizeof(uint64_t),
                                static_cast<off_t>(at * sizeof(uint64_t)));
    const size_t whole = got < 0 ? 0 : static_cast<size_t>(got) / sizeof(uint64_t);
    const bool written = std::any_of(
        entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(whole), [](uint64_t entry) {
          return (entry & (kPresent | kSwapped)) != 0 && (entry & kOfFile) == 0;
        });
    if (written) return true;
    if (whole < count) return false;
  }
  return false;
}

}  // namespace

std::string ChangedCode(pid_t pid) {
  const Fd pagemap(::open(fmt::format("/proc/{}/pagemap", pid).c_str(), O_RDONLY | O_CLOEXEC));
  const auto maps = ReadFile(fmt::format("/proc/{}/maps", pid));
  if (!pagemap.valid() || !maps) return "";
  for (const std::string_view line : Split(*maps, '\n')) {
    const std::optional<MappedRange> range = ParseMapsLine(line);
    if (range && IsOthersCode(*range) && WrittenTo(pagemap.get(), *range)) {
      return std::string(range->path);
    }
  }
  return "";
}

}  // namespace roofmark::worker
